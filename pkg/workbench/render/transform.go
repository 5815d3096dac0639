// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"znkr.io/diff"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// transform edits a value until it is the one that is wanted, and edits no more than is different: the patch of the document is
// then as small as a person would write it. Items of lists are paired by what identifies them.
func transform(n, want *document.Node) error {
	switch {
	case n.Equal(want):
		return nil
	case n.Kind() == document.Object && want.Kind() == document.Object:
		return transformMembers(n, want)
	case n.Kind() == document.Array && want.Kind() == document.Array:
		return transformItems(n, want)
	default:
		return n.Replace(want.Raw())
	}
}

func transformMembers(n, want *document.Node) error {
	var gone []string
	for key := range n.Members() {
		if want.Get(key).Kind() == document.Invalid {
			gone = append(gone, key)
		}
	}
	for _, key := range gone {
		n.Remove(key)
	}
	for key, member := range want.Members() {
		if n.Get(key).Kind() == document.Invalid {
			if _, err := n.Set(key, member.Raw()); err != nil {
				return err
			}
		} else if err := transform(n.Get(key), member); err != nil {
			return err
		}
	}
	return nil
}

func transformItems(n, want *document.Node) error {
	items := want.Items()
	at, next := 0, 0 // the item of n that is looked at, and the next one of items
	for _, edit := range diff.Edits(itemNames(n), itemNames(want), diff.Minimal()) {
		var err error
		switch edit.Op {
		case diff.Match:
			err = transform(n.Item(at), items[next])
			at, next = at+1, next+1
		case diff.Delete:
			n.RemoveItem(at)
		case diff.Insert:
			_, err = n.Insert(at, items[next].Raw())
			at, next = at+1, next+1
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// itemNames are what items are paired by: their names, or else all that they are.
func itemNames(n *document.Node) []string {
	names := make([]string, n.Len())
	for i, item := range n.Items() {
		names[i] = string(item.Raw())
		if key, name := identify(item); key != "" {
			names[i] = key + "=" + name
		}
	}
	return names
}
