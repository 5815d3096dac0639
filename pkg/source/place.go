// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"regexp"
	"strconv"
	"strings"
)

// Place is a value in a document and its field, for findings about what is there and about what is not.
type Place struct {
	// Node is the value; where nothing stands, the nearest value around it.
	Node Node
	// Path is the field, such as routes[1].gateway; empty for the document itself.
	Path string
	// Missing says that nothing stands there.
	Missing bool
}

// At is a member of a mapping.
func (p Place) At(key string) Place { return p.inner(p.Value().Get(key), join(p.Path, key)) }

// Item is an item of a list, which count from 0.
func (p Place) Item(index int) Place {
	var node Node
	if items := p.Value().Items(); index < len(items) {
		node = items[index]
	}
	return p.inner(node, p.Path+"["+strconv.Itoa(index)+"]")
}

func (p Place) inner(node Node, path string) Place {
	if node.Node == nil {
		return Place{p.Node, path, true}
	}
	return Place{Node: node, Path: path}
}

// Value is what stands there; the zero Node, with its file, where nothing does.
func (p Place) Value() Node {
	if p.Missing {
		return Node{File: p.Node.File}
	}
	return p.Node
}

// Absent says that nothing stands there, or null.
func (p Place) Absent() bool { return p.Value().Absent() }

// Text is what stands there as a Text, for keys and items that are none in Go.
func (p Place) Text() Text {
	n := p.Value()
	if n.Node == nil {
		return Text{}
	}
	return Text{Value: n.Value, At: n}
}

// Key is the key of a member, for what is said of its name.
func (p Place) Key(key string) Place {
	inner := p.At(key)
	for _, field := range p.Value().Fields() {
		if field.Key.Value == key {
			inner.Node = field.Key
		}
	}
	return inner
}

// Members are the members of a mapping of which the keys are no names of fields, in the order of the file, at their keys and at their values.
func (p Place) Members(each func(key, value Place)) {
	for _, field := range p.Value().Fields() {
		path := p.Path + "[" + strconv.Quote(field.Key.Value) + "]"
		each(Place{Node: field.Key, Path: path}, Place{Node: field.Value, Path: path})
	}
}

// step is a member or an item of a path below a place.
var step = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)

// Walk is what a path such as routes[1].gateway names below the place; where there is no such value, it is the nearest one above.
func (p Place) Walk(path string) Place {
	for _, name := range step.FindAllString(path, -1) {
		if index, err := strconv.Atoi(strings.Trim(name, "[]")); err == nil && name[0] == '[' {
			p = p.Item(index)
		} else {
			p = p.At(name)
		}
	}
	return p
}

// FindingOf is a finding of a rule at the place.
func (p Place) FindingOf(rule Rule, format string, arguments ...any) Finding {
	return p.Node.Finding(p.Path, format, arguments...).Of(rule)
}
