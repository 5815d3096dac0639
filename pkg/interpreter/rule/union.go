// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// union compiles the items of all members' lists.
func (c *compiler) union(p place, spec *v1alpha1.InterpretUnion) combine {
	if spec == nil {
		c.add(p, source.MissingField, "is empty")
		return nil
	}
	c.needed(p, "path", spec.Path)
	at, key := c.inStatus(p.At("path"), spec.Path), c.path(p.At("key"), spec.Key)
	prefix := c.path(p.At("prefix"), spec.Prefix)
	c.made(p.At("prefix"), prefix)
	return func(q *question) ([]byte, error) {
		all := q.take(at)
		if len(all) == 0 {
			return nil, nil
		}
		size, count := 2, 0
		for _, f := range all {
			if f.Kind() != document.Array {
				return nil, f.misfit(at, "a list")
			}
			n := f.Len()
			size += len(f.Raw()) + n*(len(f.Cluster)+len("/"))
			count += n
		}
		u := united{question: q, at: at, key: key, prefix: prefix, out: append(slices.Grow(q.out[:0], size), '['), seen: make(map[string]span, count)}
		for _, f := range all {
			for _, item := range f.Items() {
				if err := u.add(f, item); err != nil {
					return nil, err
				}
			}
		}
		return q.wrote(append(u.out, ']')), nil
	}
}

// united is a list of items of all members on its way.
type united struct {
	*question
	at, key, prefix path
	out             []byte
	// seen are the items by their keys, as they stand in out.
	seen map[string]span
	text []byte // that is used again
}

// span is a part of what is written.
type span struct{ from, to int }

// add writes an item, unless it stands there already.
func (u *united) add(f found, item *document.Node) error {
	length := len(u.out)
	if length > 1 {
		u.out = append(u.out, ',')
	}
	from := len(u.out)
	name, err := u.write(f, item)
	if err != nil {
		return err
	}
	known, double := u.seen[string(name)]
	if !double {
		u.seen[string(name)] = span{from, len(u.out)}
		return nil
	}
	same, err := equal(u.out[known.from:known.to], u.out[from:])
	if err != nil {
		return unreadable(u.at.at.String()+": status."+u.at.text, err)
	}
	if !same {
		return unfit("%s: the member %s: an item in status.%s differs from that of another member with the same %s", u.key.at, f.Cluster, u.at.text, u.key.text)
	}
	u.out = u.out[:length]
	return nil
}

// write writes an item, with the name of the cluster before a text where there are several members, and gives its key.
func (u *united) write(f found, item *document.Node) ([]byte, error) {
	if len(u.prefix.steps) == 0 || len(u.members) == 1 {
		u.out = append(u.out, item.Raw()...)
		return u.keyOf(f, item)
	}
	field := u.prefix.find(item)
	var ok bool
	u.text, ok = field.AppendText(append(append(u.text[:0], f.Cluster...), '/'))
	if !ok {
		return nil, unfit("%s: the member %s: an item in status.%s has no %s that is a text", u.prefix.at, f.Cluster, u.at.text, u.prefix.text)
	}
	before, behind := item.Around(field)
	from := len(u.out)
	u.out = append(u.out, before...)
	begin := len(u.out)
	u.out = document.AppendQuoted(u.out, u.text)
	end := len(u.out)
	u.out = append(u.out, behind...)
	if u.key.text == u.prefix.text && !u.key.selects() {
		return u.out[begin:end], nil
	}
	changed, err := u.object.Root().Parse(u.out[from:])
	if err != nil {
		return nil, unreadable(u.at.at.String()+": status."+u.at.text, err)
	}
	return u.keyOf(f, changed.Root())
}

// keyOf is what an item has in common with others that are the same.
func (u *united) keyOf(f found, item *document.Node) ([]byte, error) {
	judged := u.key.find(item)
	if judged == nil {
		return nil, unfit("%s: the member %s: an item in status.%s has no %s", u.key.at, f.Cluster, u.at.text, u.key.text)
	}
	return []byte(canonical(judged)), nil
}

// equal says whether two values are the same.
func equal(a, b []byte) (bool, error) {
	if bytes.Equal(a, b) {
		return true, nil
	}
	one, err := document.Parse(a)
	if err != nil {
		return false, err
	}
	defer one.Release()
	other, err := document.Parse(b)
	if err != nil {
		return false, err
	}
	defer other.Release()
	return one.Root().Equal(other.Root()), nil
}

// common is the items that the lists of all members have that have one, in the order of the first.
func common(at path) combine {
	return func(q *question) ([]byte, error) {
		all := q.take(at)
		counts := map[string]int{}
		for _, f := range all {
			if f.Kind() != document.Array {
				return nil, f.misfit(at, "a list")
			}
			seen := map[string]bool{}
			for _, item := range f.Items() {
				if name := canonical(item); !seen[name] {
					seen[name] = true
					counts[name]++
				}
			}
		}
		if len(all) == 0 {
			return nil, nil
		}
		var items []*document.Node
		for _, item := range all[0].Items() {
			if name := canonical(item); counts[name] == len(all) {
				counts[name] = 0 // once
				items = append(items, item)
			}
		}
		return q.listOf(items), nil
	}
}

// canonical is a text that places with equal values have in common.
func canonical(n *document.Node) string {
	switch n.Kind() {
	case document.Object, document.Array:
		if raw, err := json.Marshal(native(n)); err == nil {
			return string(raw)
		}
	case document.String:
		text, _ := n.Text()
		return `"` + text
	}
	return string(n.Raw())
}
