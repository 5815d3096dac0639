// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Place is an existing or missing value in a document, for findings about it.
type Place struct {
	// Node is the value, or the nearest surrounding value if it is missing.
	Node Node
	// Path is the field, such as routes[1].gateway; empty for the document itself.
	Path string
	// Missing means that there is no value.
	Missing bool
}

// At returns a member of a mapping.
func (p Place) At(key string) Place { return p.inner(p.Value().Get(key), join(p.Path, key)) }

// Item returns an item of a list, counted from 0.
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

// Value returns the value, or the zero Node with its file.
func (p Place) Value() Node {
	if p.Missing {
		return Node{File: p.Node.File}
	}
	return p.Node
}

// Absent reports whether the value is missing or null.
func (p Place) Absent() bool { return p.Value().Absent() }

// Text returns the value as a Text, for keys and items with another Go type.
func (p Place) Text() Text {
	n := p.Value()
	if n.Node == nil {
		return Text{}
	}
	return Text{Value: n.Value, At: n}
}

// Key returns the key of a member, for findings about its name.
func (p Place) Key(key string) Place {
	inner := p.At(key)
	for _, field := range p.Value().Fields() {
		if field.Key.Value == key {
			inner.Node = field.Key
		}
	}
	return inner
}

// Members calls each for the members of a mapping with arbitrary keys, in the order of the file, with the places of key
// and value.
func (p Place) Members(each func(key, value Place)) {
	for _, field := range p.Value().Fields() {
		path := p.Path + "[" + strconv.Quote(field.Key.Value) + "]"
		each(Place{Node: field.Key, Path: path}, Place{Node: field.Value, Path: path})
	}
}

// step is a member or an item of a path below a place.
var step = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)

// Walk returns the value at a path such as routes[1].gateway below the place, or its nearest existing ancestor.
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

// FindingOf returns a finding of a rule at the place.
func (p Place) FindingOf(rule LintRule, format string, arguments ...any) Finding {
	return p.Node.Finding(p.Path, format, arguments...).Of(rule)
}

// Limits restricts the values of a field by its tags: oneOf:"Fail,Ignore" or between:"1,30".
type Limits struct {
	// OneOf are all texts that are allowed; nil: any.
	OneOf []string
	// Bounded reports that a number must be Least to Most.
	Bounded     bool
	Least, Most int64
}

// LimitsOf reads the tags. The error means that they are wrong, not a document.
func LimitsOf(tag reflect.StructTag) (Limits, error) {
	var limits Limits
	if words, ok := tag.Lookup("oneOf"); ok {
		limits.OneOf = strings.Split(words, ",")
	}
	between, ok := tag.Lookup("between")
	if !ok {
		return limits, nil
	}
	if _, err := fmt.Sscanf(between, "%d,%d", &limits.Least, &limits.Most); err != nil {
		return limits, fmt.Errorf("reading the tag between:%q: %w", between, err)
	}
	limits.Bounded = true
	return limits, nil
}

// check finds a decoded value that is not within the limits.
func (l Limits) check(n Node, path string, value reflect.Value) Findings {
	switch {
	case l.OneOf != nil && !slices.Contains(l.OneOf, value.String()):
		finding := n.Finding(path, "must be one of %s%s", strings.Join(l.OneOf, ", "), Suggest(value.String(), l.OneOf))
		return Findings{finding.Of(WrongValue).Instead(n, l.OneOf)}
	case l.Bounded && (value.Int() < l.Least || value.Int() > l.Most):
		return Findings{n.Finding(path, "must be %d to %d", l.Least, l.Most).Of(WrongValue)}
	default:
		return nil
	}
}

// FindingsOf returns the findings that an error contains, with the path added if they have none; another error becomes
// a finding at the node.
func FindingsOf(n Node, path string, err error) Findings {
	var (
		findings Findings
		finding  Finding
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &findings):
		findings = slices.Clone(findings)
	case errors.As(err, &finding):
		findings = Findings{finding}
	default:
		return Findings{n.Finding(path, "%s", err)}
	}
	for i := range findings {
		if findings[i].Path == "" {
			findings[i].Path = path
		}
	}
	return findings
}
