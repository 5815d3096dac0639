// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strconv"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// place is a value in a document, and its field.
type place struct {
	node source.Node
	path string
}

// at is a member. The place of one that is missing is that of what it is missing in.
func (p place) at(key string) place {
	inner := place{p.node.Get(key), key}
	if p.path != "" {
		inner.path = p.path + "." + key
	}
	if inner.node.Node == nil {
		inner.node = p.node
	}
	return inner
}

// key is the key of a member, for what is said of its name.
func (p place) key(key string) place {
	inner := p.at(key)
	for _, field := range p.node.Fields() {
		if field.Key.Value == key {
			inner.node = field.Key
		}
	}
	return inner
}

// item is an item of a list.
func (p place) item(index int) place {
	inner := place{p.node, p.path + "[" + strconv.Itoa(index) + "]"}
	if items := p.node.Items(); index < len(items) {
		inner.node = items[index]
	}
	return inner
}

// finding is one at the place.
func (p place) finding(rule source.Rule, format string, arguments ...any) source.Finding {
	return p.node.Finding(p.path, format, arguments...).Of(rule)
}
