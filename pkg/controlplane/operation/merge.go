// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// listKeys are the members by which the items of a list are told apart when they are merged: the patchMergeKeys of
// Kubernetes' API types, and containerName for the policies of a VerticalPodAutoscaler.
var listKeys = map[string]string{
	"containers": "name", "initContainers": "name", "volumes": "name", "env": "name", "volumeMounts": "mountPath",
	"ports": "containerPort", "imagePullSecrets": "name", "containerPolicies": "containerName", "items": "key",
}

// quantityFields are the members whose values are quantities, which the API server may spell in another way.
var quantityFields = []string{"requests", "limits", "minAllowed", "maxAllowed"}

// merge makes node hold what wanted says and leaves everything else in it, such as what the API server defaulted. A null
// removes. name is the member under which node stands.
func merge(node, wanted *document.Node, name string) error {
	switch {
	case node.Kind() == document.Object && wanted.Kind() == document.Object:
		for key, value := range wanted.Members() {
			if err := mergeInto(node, key, value, slices.Contains(quantityFields, name)); err != nil {
				return err
			}
		}
		return nil
	case node.Kind() == document.Array && wanted.Kind() == document.Array:
		return mergeList(node, wanted, name)
	default:
		return node.Replace(wanted.Raw())
	}
}

func mergeInto(parent *document.Node, key string, wanted *document.Node, quantity bool) error {
	present := parent.Get(key)
	switch {
	case wanted.Kind() == document.Null:
		if present != nil {
			parent.Remove(key)
		}
		return nil
	case present == nil:
		_, err := parent.Set(key, wanted.Raw())
		return err
	case quantity && sameQuantity(present, wanted):
		return nil
	default:
		return merge(present, wanted, key)
	}
}

func mergeList(node, wanted *document.Node, name string) error {
	key, keyed := listKeys[name]
	if !keyed || !everyItemHas(wanted, key) {
		return mergeByIndex(node, wanted)
	}
	for _, item := range wanted.Items() {
		present := itemWith(node, key, item.Get(key))
		if present == nil {
			if _, err := node.Append(item.Raw()); err != nil {
				return err
			}
			continue
		}
		if err := merge(present, item, ""); err != nil {
			return err
		}
	}
	return nil
}

// mergeByIndex merges lists of objects of the same length item by item, and replaces any other list.
func mergeByIndex(node, wanted *document.Node) error {
	ours, theirs := wanted.Items(), node.Items()
	objects := func(n *document.Node) bool { return n.Kind() == document.Object }
	if len(ours) != len(theirs) || !all(ours, objects) || !all(theirs, objects) {
		return node.Replace(wanted.Raw())
	}
	for i := range ours {
		if err := merge(theirs[i], ours[i], ""); err != nil {
			return err
		}
	}
	return nil
}

// mergeMember merges raw JSON into a member of an object, which it makes where there is none.
func mergeMember(parent *document.Node, member string, raw []byte) error {
	wanted, err := document.Parse(raw)
	if err != nil {
		return err
	}
	defer wanted.Release()
	return mergeInto(parent, member, wanted.Root(), false)
}

// mergeNamed merges an object into the item of a list that has the same key, or appends it.
func mergeNamed(parent *document.Node, member, key, name string, raw []byte) error {
	wanted, err := document.Parse(raw)
	if err != nil {
		return err
	}
	defer wanted.Release()
	list, err := parent.Ensure(member, document.Array)
	if err != nil {
		return nested(err, "%s", member)
	}
	if item := list.ItemWith(key, name); item != nil {
		return merge(item, wanted.Root(), "")
	}
	_, err = list.Append(raw)
	return err
}

// removeNamed removes the items of a list in which the member key has the given text.
func removeNamed(parent *document.Node, member, key, name string) {
	list := parent.Get(member)
	items := list.Items()
	for i := len(items) - 1; i >= 0; i-- {
		if text, ok := items[i].Get(key).Text(); ok && text == name {
			list.RemoveItem(i)
		}
	}
}

func itemWith(list *document.Node, key string, value *document.Node) *document.Node {
	for _, item := range list.Items() {
		if present := item.Get(key); present != nil && bytes.Equal(present.Raw(), value.Raw()) {
			return item
		}
	}
	return nil
}

func everyItemHas(list *document.Node, key string) bool {
	return all(list.Items(), func(n *document.Node) bool { return n.Get(key) != nil })
}

func all(nodes []*document.Node, is func(*document.Node) bool) bool {
	return !slices.ContainsFunc(nodes, func(n *document.Node) bool { return !is(n) })
}

func sameQuantity(a, b *document.Node) bool {
	return equalQuantities(text(a), text(b))
}

func equalQuantities(a, b string) bool {
	x, errX := resource.ParseQuantity(a)
	y, errY := resource.ParseQuantity(b)
	return errX == nil && errY == nil && x.Cmp(y) == 0
}

// text is a string's text, or the JSON of anything else.
func text(n *document.Node) string {
	if s, ok := n.Text(); ok {
		return s
	}
	return string(n.Raw())
}

// object is a JSON object of the given keys and raw values.
func object(pairs ...any) []byte {
	out := []byte{'{'}
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, document.Quote(pairs[i].(string))...)
		out = append(append(out, ':'), pairs[i+1].([]byte)...)
	}
	return append(out, '}')
}

func contains(known []string, word string) bool { return slices.Contains(known, word) }
