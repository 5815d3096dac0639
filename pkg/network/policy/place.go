// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// place is a value in a document, and its field.
type place struct {
	node source.Node
	path string
	// missing says that there is no value: the node is that in which it is missing.
	missing bool
}

// at is a member.
func (p place) at(key string) place {
	inner := place{node: p.value().Get(key), path: key}
	if p.path != "" {
		inner.path = p.path + "." + key
	}
	if inner.node.Node == nil {
		inner.node, inner.missing = p.node, true
	}
	return inner
}

// value is what stands there; the zero Node where nothing does.
func (p place) value() source.Node {
	if p.missing {
		return source.Node{File: p.node.File}
	}
	return p.node
}

// absent says that nothing stands there, or null.
func (p place) absent() bool { return p.value().Absent() }

// key is the key of a member, for what is said of its name.
func (p place) key(key string) place {
	inner := p.at(key)
	for _, field := range p.value().Fields() {
		if field.Key.Value == key {
			inner.node = field.Key
		}
	}
	return inner
}

// item is an item of a list.
func (p place) item(index int) place {
	inner := place{node: p.node, path: p.path + "[" + strconv.Itoa(index) + "]", missing: true}
	if items := p.value().Items(); index < len(items) {
		inner.node, inner.missing = items[index], false
	}
	return inner
}

// step is a member or an item of a path below a place.
var step = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)

// walk is what a path such as routes[1].gateway names below the place; where there is no such value, it is the nearest one above.
func (p place) walk(path string) place {
	for _, name := range step.FindAllString(path, -1) {
		if index, err := strconv.Atoi(strings.Trim(name, "[]")); err == nil && name[0] == '[' {
			p = p.item(index)
		} else {
			p = p.at(name)
		}
	}
	return p
}

// computed says whether it is known only later what stands here: it is an expression, or a member that is missing in a mapping beside others that
// are.
func (p place) computed() bool {
	if isComputed(p.node) {
		return true
	}
	for _, field := range p.node.Fields() {
		if isComputed(field.Value) {
			return true
		}
	}
	return false
}

// isComputed says whether a value holds an expression.
func isComputed(n source.Node) bool {
	return n.Node != nil && n.Kind == yaml.ScalarNode && n.Tag == "!!str" && strings.Contains(n.Value, "${")
}

// finding is one at the place.
func (p place) finding(rule source.Rule, format string, arguments ...any) source.Finding {
	return p.node.Finding(p.path, format, arguments...).Of(rule)
}
