// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// find is what stands at the path, nil where nothing does.
func (p fieldPath) find(n *document.Node) *document.Node {
	for _, s := range p {
		n = findStep(n, s)
	}
	return n
}

func findStep(n *document.Node, s fieldpath.Step) *document.Node {
	switch {
	case s.Position && n.Kind() == document.Array:
		if i, err := strconv.Atoi(s.Key); err == nil && i < n.Len() {
			return n.Item(i)
		}
		return nil
	case s.By == "":
		return n.Get(s.Key)
	}
	for _, item := range n.Items() {
		if isMeant(item, s) {
			return item
		}
	}
	return nil
}

// isMeant says whether an item is the one that is meant: 443 and "443" are the same.
func isMeant(item *document.Node, s fieldpath.Step) bool {
	member := item.Get(s.By)
	return member.Is(s.Key) || member.Kind() != document.String && string(member.Raw()) == s.Key
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
	quantity := len(p) > 1 && slices.Contains(quantityFields, p[len(p)-2].Key)
	if last.By == "" {
		return nested(mergeInto(parent, last.Key, wanted.Root(), quantity), "%s", p)
	}
	item, err := ensureStep(parent, last, document.Object)
	if err != nil {
		return nested(err, "%s", p)
	}
	if wanted.Root().Kind() != document.Object {
		return fmt.Errorf("%w: %s is the item of a list, which must be an object", ErrValue, p)
	}
	return nested(merge(item, wanted.Root(), ""), "%s", p)
}

// ensureParent is the object or list in which the last step of the path stands.
func (p fieldPath) ensureParent(n *document.Node) (*document.Node, fieldpath.Step, error) {
	for i, s := range p[:len(p)-1] {
		kind := document.Object
		if p[i+1].By != "" {
			kind = document.Array
		}
		var err error
		if n, err = ensureStep(n, s, kind); err != nil {
			return nil, fieldpath.Step{}, err
		}
	}
	return n, p[len(p)-1], nil
}

func ensureStep(n *document.Node, s fieldpath.Step, kind document.Kind) (*document.Node, error) {
	if s.By == "" {
		return n.Ensure(s.Key, kind)
	}
	if item := findStep(n, s); item != nil {
		if item.Kind() != kind {
			return nil, fmt.Errorf("expecting an %s, found a %s: %w", kind, item.Kind(), document.ErrKind)
		}
		return item, nil
	}
	return n.Append(object(s.By, itemKey(s)))
}

var number = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)

// itemKey is the value by which an item is found, as it is written into a new one.
func itemKey(s fieldpath.Step) []byte {
	if !s.Quoted && (s.Key == "true" || s.Key == "false" || number.MatchString(s.Key)) {
		return []byte(s.Key)
	}
	return document.Quote(s.Key)
}

// remove takes the place away, and of items of a list all that are meant.
func (p fieldPath) remove(root *document.Node) {
	parent, last := p[:len(p)-1].find(root), p[len(p)-1]
	if last.By == "" {
		parent.Remove(last.Key)
		return
	}
	for i, item := range slices.Backward(parent.Items()) {
		if isMeant(item, last) {
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
	list, err := ensureStep(parent, last, document.Array)
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
	return p.put(now, old.Raw())
}

// putBack is put where nothing is made on the way: what has gone meanwhile is not what a position meant.
func (p fieldPath) putBack(now *document.Node, raw []byte) error {
	parent, last := p[:len(p)-1].find(now), p[len(p)-1]
	switch present := findStep(parent, last); {
	case present != nil:
		return nested(present.Replace(raw), "%s", p)
	case parent.Kind() == document.Object:
		_, err := parent.Set(last.Key, raw)
		return nested(err, "%s", p)
	default:
		return nil
	}
}

// put makes the place what raw says.
func (p fieldPath) put(now *document.Node, raw []byte) error {
	parent, last, err := p.ensureParent(now)
	if err != nil {
		return nested(err, "%s", p)
	}
	present := findStep(parent, last)
	switch {
	case present != nil:
		err = present.Replace(raw)
	case last.By != "":
		_, err = parent.Append(raw)
	default:
		_, err = parent.Set(last.Key, raw)
	}
	return nested(err, "%s", p)
}
