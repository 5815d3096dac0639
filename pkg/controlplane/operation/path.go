// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// fieldPath is the way to a field that can be written.
type fieldPath fieldpath.Path

// errPosition explains why [0] cannot be part of a path that is written.
var errPosition = errors.New("select an item by a member, as in [name=x]: positions change when items are added")

// parsePath reads a path without positions.
func parsePath(text string) (fieldPath, error) {
	p, err := fieldpath.Parse(text)
	if err == nil && slices.ContainsFunc(p, func(s fieldpath.Step) bool { return s.Position }) {
		err = errPosition
	}
	return fieldPath(p), err
}

// pathOf returns the path with these members.
func pathOf(keys ...string) fieldPath {
	p := make(fieldPath, len(keys))
	for i, key := range keys {
		p[i].Key = key
	}
	return p
}

// String writes the path in the one form that places compare.
func (p fieldPath) String() string { return fieldpath.Path(p).String() }

// with returns the path to a member below.
func (p fieldPath) with(key string) fieldPath { return fieldPath(fieldpath.Path(p).With(key)) }

// item returns the path to the item of the list that has the text key as its member by.
func (p fieldPath) item(by, key string) fieldPath {
	return append(p[:len(p):len(p)], fieldpath.Step{Key: key, By: by, Quoted: true})
}

// keys returns the members on the path, without the items of lists.
func (p fieldPath) keys() []string { return fieldpath.Path(p).Keys() }

// isItem reports whether the path ends at the item of a list.
func (p fieldPath) isItem() bool { return len(p) > 0 && p[len(p)-1].By != "" }

// find returns the value at the path, or nil.
func (p fieldPath) find(n *document.Node) *document.Node {
	for _, s := range p {
		n = n.Step(loose(s))
	}
	return n
}

// loose returns a step that selects the same items with and without quotes: 443 and "443" are equal.
func loose(s fieldpath.Step) fieldpath.Step {
	s.Quoted = false
	return s
}

// write writes a value to the place: a text as a string, and a structured value with merge. An absent value removes the
// place.
func (p fieldPath) write(root *document.Node, v Resolved) error {
	if v.Absent {
		p.remove(root)
		return nil
	}
	if v.JSON != nil {
		return p.merge(root, v.JSON)
	}
	text := document.Quote(v.Text())
	if p.isItem() || p.isQuantity() {
		return p.merge(root, text)
	}
	parent, last, err := p.ensureParent(root)
	if err == nil {
		_, err = parent.Set(last.Key, text)
	}
	if err != nil {
		return nested(err, "%s", p)
	}
	return nil
}

// isQuantity reports whether the path ends at a quantity, which can be written in several ways.
func (p fieldPath) isQuantity() bool {
	return len(p) > 1 && (slices.Contains(quantityFields, p[len(p)-2].Key) || p[len(p)-1].Key == "storageCapacity")
}

// merge merges a value into the place. It creates missing parents: objects, lists, and the item of a list with the
// member that identifies it. A null removes the place.
func (p fieldPath) merge(root *document.Node, raw []byte) error {
	if present := p.find(root); present != nil && bytes.Equal(present.Raw(), raw) && !bytes.Contains(raw, []byte("null")) {
		return nil
	}
	wanted, err := document.Parse(raw)
	if err != nil {
		return err
	}
	defer wanted.Release()
	return p.mergeNode(root, wanted.Root())
}

// mergeNode works like merge for a value of another document.
func (p fieldPath) mergeNode(root, wanted *document.Node) error {
	if wanted.Kind() == document.Null {
		p.remove(root)
		return nil
	}
	parent, last, err := p.ensureParent(root)
	if err != nil {
		return nested(err, "%s", p)
	}
	if last.By == "" {
		return nested(mergeInto(parent, last.Key, wanted, p.isQuantity()), "%s", p)
	}
	item, err := ensureStep(parent, last, document.Object)
	if err != nil {
		return nested(err, "%s", p)
	}
	if wanted.Kind() != document.Object {
		return fmt.Errorf("%w: %s is the item of a list, which must be an object", ErrValue, p)
	}
	return nested(merge(item, wanted, ""), "%s", p)
}

// ensureParent returns the object or list that contains the last step of the path.
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
	if item := n.Step(loose(s)); item != nil {
		if item.Kind() != kind {
			return nil, fmt.Errorf("expecting an %s, found a %s: %w", kind, item.Kind(), document.ErrKind)
		}
		return item, nil
	}
	return n.Append(document.NewItem(s))
}

// remove removes the place; for an item of a list, it removes all items that the step selects.
func (p fieldPath) remove(root *document.Node) {
	p[:len(p)-1].find(root).RemoveStep(loose(p[len(p)-1]))
}

// add appends an item to the list at the path, unless the list has it.
func (p fieldPath) add(root *document.Node, raw []byte) error {
	item, err := document.Parse(raw)
	if err != nil {
		return err
	}
	defer item.Release()
	parent, last, err := p.ensureParent(root)
	if err != nil {
		return nested(err, "%s", p)
	}
	list, err := ensureStep(parent, last, document.Array)
	if err != nil {
		return nested(err, "%s", p)
	}
	if slices.ContainsFunc(list.Items(), item.Root().Equal) {
		return nil
	}
	_, err = list.Append(raw)
	return nested(err, "%s", p)
}

// keep restores the place from the old object.
func (p fieldPath) keep(o *target.Object) error {
	return p.keepBelow(o.Document.Root(), o.Old.Original())
}

// keepBelow works like keep for a path below nodes other than the roots.
func (p fieldPath) keepBelow(now, then *document.Node) error {
	old := p.find(then)
	if old == nil {
		p.remove(now)
		return nil
	}
	return p.put(now, old.Raw())
}

// put sets the place to raw.
func (p fieldPath) put(now *document.Node, raw []byte) error {
	parent, last, err := p.ensureParent(now)
	if err != nil {
		return nested(err, "%s", p)
	}
	present := parent.Step(loose(last))
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

// listKeys names the members that identify the items of a list in a merge: the list map keys of Kubernetes' API types,
// path for the items of a Secret or ConfigMap, and containerName for the policies of a VerticalPodAutoscaler.
var listKeys = map[string][]string{
	"containers": {"name"}, "initContainers": {"name"}, "volumes": {"name"}, "env": {"name"}, "volumeMounts": {"mountPath"},
	"ports": {"containerPort", "protocol"}, "imagePullSecrets": {"name"}, "containerPolicies": {"containerName"}, "items": {"path"},
}

// defaults holds the values that kube-apiserver sets for missing list keys.
var defaults = map[string]string{"protocol": `"TCP"`}

// quantityFields lists the members with quantities, which kube-apiserver may convert to another notation.
var quantityFields = []string{"requests", "limits", "minAllowed", "maxAllowed"}

// unions lists members that exclude each other: if a rule writes one, the existing one is removed.
var unions = [][]string{
	{"value", "valueFrom"},
	{"secretKeyRef", "configMapKeyRef", "fieldRef", "resourceFieldRef", "fileKeyRef"},
	{"exec", "httpGet", "tcpSocket", "grpc", "sleep"},
	{"secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"},
}

// merge sets the values of wanted in node and leaves all other values unchanged, such as defaults of kube-apiserver. A
// null removes a member. name is the member that contains node.
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

// removeAlternatives removes the members of node that exclude one in wanted.
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

// itemsByKey returns the items of a list by their key. It returns false if there is no key, an item lacks it, or two
// items have the same.
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

// keyOf returns the key of an item, or an empty string.
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
	other := func(n *document.Node) bool { return n.Kind() != document.Object }
	if len(ours) != len(theirs) || slices.ContainsFunc(ours, other) || slices.ContainsFunc(theirs, other) {
		return node.Replace(wanted.Raw())
	}
	for i := range ours {
		if err := merge(theirs[i], ours[i], ""); err != nil {
			return err
		}
	}
	return nil
}

func sameQuantity(a, b *document.Node) bool {
	x, errX := resource.ParseQuantity(text(a))
	y, errY := resource.ParseQuantity(text(b))
	return errX == nil && errY == nil && x.Cmp(y) == 0
}

// text returns the text of a string, or the JSON of another value.
func text(n *document.Node) string {
	if s, ok := n.Text(); ok {
		return s
	}
	return string(n.Raw())
}
