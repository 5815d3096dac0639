// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// listKeys are the members by which the items of a list are told apart when they are merged: the list map keys of
// Kubernetes' API types, path for the items of a Secret or ConfigMap, and containerName for the policies of a
// VerticalPodAutoscaler.
var listKeys = map[string][]string{
	"containers": {"name"}, "initContainers": {"name"}, "volumes": {"name"}, "env": {"name"}, "volumeMounts": {"mountPath"},
	"ports": {"containerPort", "protocol"}, "imagePullSecrets": {"name"}, "containerPolicies": {"containerName"}, "items": {"path"},
}

// defaults are what the API server puts for a list key that is not written.
var defaults = map[string]string{"protocol": `"TCP"`}

// quantityFields are the members whose values are quantities, which the API server may spell in another way.
var quantityFields = []string{"requests", "limits", "minAllowed", "maxAllowed"}

// unions are members of which an object has one: where a rule writes another one, the one that stands there goes.
var unions = [][]string{
	{"value", "valueFrom"},
	{"secretKeyRef", "configMapKeyRef", "fieldRef", "resourceFieldRef", "fileKeyRef"},
	{"exec", "httpGet", "tcpSocket", "grpc", "sleep"},
	{"secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"},
}

// merge makes node hold what wanted says and leaves everything else in it, such as what the API server defaulted. A null
// removes. name is the member under which node stands.
func merge(node, wanted *document.Node, name string) error {
	switch {
	case node.Kind() == document.Object && wanted.Kind() == document.Object:
		removeAlternatives(node, wanted)
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
	theirs, keyed := itemsByKey(node, listKeys[name])
	ours, alsoKeyed := itemsByKey(wanted, listKeys[name])
	if !keyed || !alsoKeyed {
		return mergeByIndex(node, wanted)
	}
	for _, item := range wanted.Items() {
		key := keyOf(item, listKeys[name])
		if present := theirs[key]; present != nil {
			if err := merge(present, ours[key], ""); err != nil {
				return err
			}
			continue
		}
		if _, err := node.Append(item.Raw()); err != nil {
			return err
		}
	}
	return nil
}

// removeAlternatives removes from node the members of a union of which wanted has another one.
func removeAlternatives(node, wanted *document.Node) {
	for _, union := range unions {
		if !slices.ContainsFunc(union, func(key string) bool { return wanted.Get(key) != nil }) {
			continue
		}
		for _, key := range union {
			if wanted.Get(key) == nil {
				node.Remove(key)
			}
		}
	}
}

// itemsByKey are the items of a list by their key; false when there is no key, an item has none, or two have the same.
func itemsByKey(list *document.Node, keys []string) (map[string]*document.Node, bool) {
	items := map[string]*document.Node{}
	for _, item := range list.Items() {
		key := keyOf(item, keys)
		if _, twice := items[key]; key == "" || twice {
			return nil, false
		}
		items[key] = item
	}
	return items, len(keys) > 0
}

// keyOf is what tells an item from others; empty when it has no such member.
func keyOf(item *document.Node, keys []string) string {
	var out []byte
	for _, key := range keys {
		member := item.Get(key)
		switch {
		case member != nil:
			out = append(append(out, member.Raw()...), 0)
		case defaults[key] != "":
			out = append(append(out, defaults[key]...), 0)
		default:
			return ""
		}
	}
	return string(out)
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
	wanted, err := parent.Parse(raw)
	if err != nil {
		return err
	}
	return mergeInto(parent, member, wanted.Root(), false)
}

// mergeNamed merges an object into the item of a list that has the same key, or appends it.
func mergeNamed(parent *document.Node, member, key, name string, raw []byte) error {
	wanted, err := parent.Parse(raw)
	if err != nil {
		return err
	}
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
