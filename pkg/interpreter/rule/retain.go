// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"errors"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// retain is a rule that keeps what a member has decided, of the object or of each item of a list.
type retain struct {
	edit
	fields []path
	both   *both
}

// both is a list of which two objects have items with the same key.
type both struct{ list, key path }

// errUnobserved is the failure of rules that need the observed object where a caller does not send it.
var errUnobserved = errors.New("the observed object is missing")

// retain compiles a rule.
func (c *compiler) retain(p place, spec v1alpha1.InterpretRetain) retain {
	env, check := c.plain, c.identity
	items := c.both(p.At("items"), spec.Items)
	if items != nil {
		env, check = c.scope.each, func(place, path) {}
	}
	r := retain{edit: c.changes(env, p, spec.InterpretEdit, check), fields: c.paths(p.At("fields"), spec.Fields, c.path), both: items}
	for i, field := range r.fields {
		check(p.At("fields").Item(i), field)
	}
	if len(spec.Fields)+len(spec.Set)+len(spec.Remove) == 0 && spec.Refuse.At.Absent() {
		c.add(p, NothingToDo, "changes nothing: fields, set, remove or refuse is needed")
		return r
	}
	c.filled(p, "fields", "set", "remove")
	if items == nil { // else the paths are below items, of which the conditions are
		c.writes(interpreter.Retain, p, r.when, slices.Concat(c.claims(p.At("fields"), r.fields, false), c.changed(p, &r.edit)))
	}
	return r
}

// both compiles the items of a list; nil where the rule is not one of items.
func (c *compiler) both(p place, spec *v1alpha1.InterpretItems) *both {
	if spec == nil {
		return nil
	}
	c.needed(p, "path", spec.Path)
	c.needed(p, "key", spec.Key)
	b := &both{c.path(p.At("path"), spec.Path), c.path(p.At("key"), spec.Key)}
	c.identity(p.At("path"), b.list)
	return b
}

// apply keeps the fields that the observed object has, but in no item that the object has no longer, and changes the object.
func (r *retain) apply(q *question) error { return r.keep(q, q.object.Root(), q.observed.Root()) }

// keep is apply for a place and the same place of the observed object.
func (r *retain) keep(q *question, object, observed *document.Node) error {
	for _, field := range r.fields {
		if observed == nil {
			return unfit("%s: %s", field.at, errUnobserved)
		}
		kept := field.find(observed)
		if kept == nil || !field.reaches(object) {
			continue
		}
		if err := field.put(object, kept.Raw()); err != nil {
			return err
		}
	}
	return r.applyTo(q, object)
}

// applyEach is apply for each item that both objects have and of which the condition holds; applied says whether there is one.
func (r *retain) applyEach(q *question) (applied bool, err error) {
	defer func() { q.item, q.kept = nil, nil }()
	items, err := r.both.read(q)
	if err != nil {
		return false, err
	}
	now, observed := items.now, items.observed
	seen := map[string]bool{}
	for i, item := range items.came {
		if err := q.ended(spot{name: r.at}, i); err != nil {
			return applied, err
		}
		key, ok := r.both.keyOf(item)
		if !ok || seen[key] || now[key] == nil || observed[key] == nil {
			continue
		}
		seen[key] = true
		q.item, q.kept = valueOf(item), valueOf(observed[key])
		holds, err := r.when.holds(q)
		if err != nil {
			return applied, err
		}
		if !holds {
			continue
		}
		applied = true
		if err := r.keep(q, now[key], observed[key]); err != nil {
			return applied, err
		}
	}
	return applied, nil
}

// paired are the items of a list: those of the object as it came, and by their keys those of the object as it is now and of the observed object.
type paired struct {
	came          []*document.Node
	now, observed map[string]*document.Node
}

// read finds the items in both objects, which must have a list where they have anything.
func (b *both) read(q *question) (items paired, err error) {
	if q.observed == nil {
		return items, unfit("%s: %s", b.list.at, errUnobserved)
	}
	if items.came, err = b.itemsOf("the object", q.object.Original()); err != nil {
		return items, err
	}
	if items.now, err = b.of("the object", q.object.Root()); err != nil {
		return items, err
	}
	items.observed, err = b.of("the observed object", q.observed.Root())
	return items, err
}

// itemsOf are the items of an object, none where nothing stands at the path.
func (b *both) itemsOf(what string, root *document.Node) ([]*document.Node, error) {
	list := b.list.find(root)
	if list != nil && list.Kind() != document.Array {
		return nil, unfit("%s: %s: %s is %s, and must be a list", b.list.at, what, b.list.text, word(list))
	}
	return list.Items(), nil
}

// of are the items of an object by their keys. Of several with one key it is the first.
func (b *both) of(what string, root *document.Node) (map[string]*document.Node, error) {
	items := map[string]*document.Node{}
	all, err := b.itemsOf(what, root)
	for _, item := range all {
		if key, ok := b.keyOf(item); ok && items[key] == nil {
			items[key] = item
		}
	}
	return items, err
}

// keyOf is the key of an item; false where it has none.
func (b *both) keyOf(item *document.Node) (string, bool) {
	found := b.key.find(item)
	if found == nil {
		return "", false
	}
	return canonical(found), true
}

// answerRetain keeps what the member has decided.
func (r *rules) answerRetain(q *question) (interpreter.Response, error) {
	for i := range r.retain {
		if err := r.retain[i].ask(q); err != nil {
			return interpreter.Response{}, err
		}
	}
	return q.patched()
}

// ask applies the rule where its condition holds.
func (r *retain) ask(q *question) error {
	if r.both == nil {
		return r.run(q, r.apply)
	}
	applied, err := r.applyEach(q)
	if applied {
		q.because = append(q.because, r.at)
	}
	return err
}
