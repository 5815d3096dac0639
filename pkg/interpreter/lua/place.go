// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"slices"
	"strconv"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// place is a value in a document and its field. Where nothing stands, node is the nearest value around it.
type place struct {
	node    source.Node
	path    string
	missing bool
}

// at is a member.
func (p place) at(key string) place {
	path := key
	if p.path != "" {
		path = p.path + "." + key
	}
	return p.inner(p.value().Get(key), path)
}

// item is an item of a list.
func (p place) item(index int) place {
	var node source.Node
	if items := p.value().Items(); index < len(items) {
		node = items[index]
	}
	return p.inner(node, p.path+"["+strconv.Itoa(index)+"]")
}

func (p place) inner(node source.Node, path string) place {
	if node.Node == nil {
		return place{p.node, path, true}
	}
	return place{node: node, path: path}
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

// text is what stands there, as a Text.
func (p place) text() source.Text {
	n := p.value()
	if n.Node == nil {
		return source.Text{}
	}
	return source.Text{Value: n.Value, At: n}
}

// finding is one at the place.
func (p place) finding(format string, arguments ...any) source.Finding {
	return p.node.Finding(p.path, format, arguments...).Of(NotInLua)
}

// only finds fields that are not among those that can be written in Lua.
func (t *translator) only(p place, known ...string) {
	for _, field := range p.value().Fields() {
		if !slices.Contains(known, field.Key.Value) {
			t.add(p.at(field.Key.Value).finding("%s is nothing that is written in Lua", field.Key.Value))
		}
	}
}
