// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"encoding/json"

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
		var items []*document.Node
		seen := map[string]*document.Node{}
		all := q.take(at)
		for _, f := range all {
			if f.Kind() != document.Array {
				return nil, f.misfit(at, "a list")
			}
			for _, item := range f.Items() {
				item, err := f.prefixed(q, item, at, prefix)
				if err != nil {
					return nil, err
				}
				judged := key.find(item)
				if judged == nil {
					return nil, unfit("%s: the member %s: an item in status.%s has no %s", key.at, f.Cluster, at.text, key.text)
				}
				name := canonical(judged)
				switch known := seen[name]; {
				case known == nil:
					seen[name] = item
					items = append(items, item)
				case !known.Equal(item):
					return nil, unfit("%s: the member %s: an item in status.%s differs from that of another member with the same %s",
						key.at, f.Cluster, at.text, key.text)
				}
			}
		}
		if len(all) == 0 {
			return nil, nil
		}
		return listOf(items), nil
	}
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
		return listOf(items), nil
	}
}

// prefixed is an item with the name of the cluster before a field, where there are several members.
func (f found) prefixed(q *question, item *document.Node, at, field path) (*document.Node, error) {
	if len(field.steps) == 0 || len(q.members) == 1 {
		return item, nil
	}
	text, ok := field.find(item).Text()
	if !ok {
		return nil, unfit("%s: the member %s: an item in status.%s has no %s that is a text", field.at, f.Cluster, at.text, field.text)
	}
	changed := item.Document().Root() // what expressions and other rules see of the member stays
	return changed, field.put(changed, document.Quote(f.Cluster+"/"+text))
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
