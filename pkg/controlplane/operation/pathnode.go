// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// find is what stands at the path, nil where nothing does.
func (p fieldPath) find(n *document.Node) *document.Node {
	for _, s := range p {
		n = s.find(n)
	}
	return n
}

func (s step) find(n *document.Node) *document.Node {
	if s.by == "" {
		return n.Get(s.key)
	}
	for _, item := range n.Items() {
		if s.is(item) {
			return item
		}
	}
	return nil
}

// is says whether an item is the one that is meant: 443 and "443" are the same.
func (s step) is(item *document.Node) bool {
	member := item.Get(s.by)
	return member.Is(s.key) || member.Kind() != document.String && string(member.Raw()) == s.key
}

// merge merges a value into the place. What is missing on the way is made: objects, lists, and the item of a list with the
// member by which it is found. A null removes.
func (p fieldPath) merge(root *document.Node, raw []byte) error {
	wanted, err := document.Parse(raw)
	if err != nil {
		return err
	}
	defer wanted.Release()
	if wanted.Root().Kind() == document.Null {
		p.remove(root)
		return nil
	}
	parent, last, err := p.ensureParent(root)
	if err != nil {
		return nested(err, "%s", p)
	}
	quantity := len(p) > 1 && slices.Contains(quantityFields, p[len(p)-2].key)
	if last.by == "" {
		return nested(mergeInto(parent, last.key, wanted.Root(), quantity), "%s", p)
	}
	item, err := last.ensure(parent, document.Object)
	if err != nil {
		return nested(err, "%s", p)
	}
	if wanted.Root().Kind() != document.Object {
		return fmt.Errorf("%w: %s is the item of a list, which must be an object", ErrValue, p)
	}
	return nested(merge(item, wanted.Root(), ""), "%s", p)
}

// ensureParent is the object or list in which the last step of the path stands.
func (p fieldPath) ensureParent(n *document.Node) (*document.Node, step, error) {
	for i, s := range p[:len(p)-1] {
		kind := document.Object
		if p[i+1].by != "" {
			kind = document.Array
		}
		var err error
		if n, err = s.ensure(n, kind); err != nil {
			return nil, step{}, err
		}
	}
	return n, p[len(p)-1], nil
}

func (s step) ensure(n *document.Node, kind document.Kind) (*document.Node, error) {
	if s.by == "" {
		return n.Ensure(s.key, kind)
	}
	if item := s.find(n); item != nil {
		if item.Kind() != kind {
			return nil, fmt.Errorf("expecting an %s, found a %s: %w", kind, item.Kind(), document.ErrKind)
		}
		return item, nil
	}
	return n.Append(object(s.by, s.value()))
}

var number = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)

// value is the value by which an item is found, as it is written into a new one.
func (s step) value() []byte {
	if !s.quoted && (s.key == "true" || s.key == "false" || number.MatchString(s.key)) {
		return []byte(s.key)
	}
	return document.Quote(s.key)
}

// remove takes the place away, and of items of a list all that are meant.
func (p fieldPath) remove(root *document.Node) {
	parent, last := p[:len(p)-1].find(root), p[len(p)-1]
	if last.by == "" {
		parent.Remove(last.key)
		return
	}
	for i, item := range slices.Backward(parent.Items()) {
		if last.is(item) {
			parent.RemoveItem(i)
		}
	}
}

// add appends to the list at the path the items that it does not have.
func (p fieldPath) add(root *document.Node, items []*document.Node) error {
	parent, last, err := p.ensureParent(root)
	if err != nil {
		return nested(err, "%s", p)
	}
	list, err := last.ensure(parent, document.Array)
	if err != nil {
		return nested(err, "%s", p)
	}
	for _, item := range items {
		if slices.ContainsFunc(list.Items(), func(n *document.Node) bool { return n.Equal(item) }) {
			continue
		}
		if _, err := list.Append(item.Raw()); err != nil {
			return nested(err, "%s", p)
		}
	}
	return nil
}

// keep makes the place what it is in the old object.
func (p fieldPath) keep(o *target.Object) error {
	return p.keepBelow(o.Document.Root(), o.Old.Original())
}

// keepBelow is keep for a path below other nodes than the roots.
func (p fieldPath) keepBelow(now, then *document.Node) error {
	old := p.find(then)
	if old == nil {
		p.remove(now)
		return nil
	}
	parent, last, err := p.ensureParent(now)
	if err != nil {
		return nested(err, "%s", p)
	}
	present := last.find(parent)
	switch {
	case present != nil:
		err = present.Replace(old.Raw())
	case last.by != "":
		_, err = parent.Append(old.Raw())
	default:
		_, err = parent.Set(last.key, old.Raw())
	}
	return nested(err, "%s", p)
}
