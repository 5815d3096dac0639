// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// compiledRule is a compiled rule.
type compiledRule struct {
	*head
	// answer adds the rule's part to the answer and reports whether the rule applies. It evaluates the condition
	// only for rules that have one for each item.
	answer func(q *question) (bool, error)
}

// head is the common part of all rules.
type head struct {
	Place
	// at is the rule in messages: profile and path.
	at   string
	when condition
	// each is true for a rule whose condition is evaluated for each item, refuses for one that refuses the
	// object.
	each, refuses bool
}

// evaluateRules evaluates the rules of an operation in order and completes the answer. Expressions refer to the original
// object.
func (q *question) evaluateRules(all []compiledRule) error {
	operation := q.asked.Operation
	once := operation == interpreter.Replicas || operation == interpreter.Health
	if err := q.begin(operation); err != nil {
		return err
	}
	for i, rule := range all {
		q.trace.begin(q, i)
		if !rule.each {
			if holds, err := rule.when.applies(q); err != nil {
				return err
			} else if !holds {
				continue
			}
		}
		applied, err := rule.answer(q)
		if err != nil {
			return err
		}
		if applied {
			q.response.Because = append(q.response.Because, rule.at)
		}
		if once {
			return nil
		}
	}
	if once {
		return unfit("no rule of %s applies to the object", operation)
	}
	return q.complete(operation)
}

// begin prepares an answer to which several rules contribute.
func (q *question) begin(operation interpreter.Operation) (err error) {
	switch operation {
	case interpreter.Components:
		q.response.Components, q.seen = []interpreter.Component{}, map[string]bool{}
	case interpreter.Dependencies:
		q.response.Dependencies, q.seen = []interpreter.Dependency{}, map[string]bool{}
	case interpreter.Status:
		if q.made, err = document.Parse([]byte("{}")); err != nil {
			err = unreadable("the status", err)
		}
	}
	return err
}

// complete sets the parts of an answer that all rules wrote together.
func (q *question) complete(operation interpreter.Operation) error {
	if operation == interpreter.Status {
		q.response.Status = slices.Clone(json.RawMessage(q.made.Root().Raw()))
	}
	if !operation.Patches() {
		return nil
	}
	q.trace.end(q, nil)
	if err := q.object.Err(); err != nil {
		return unreadable("the object", err)
	}
	q.response.Patch = slices.Clone(q.object.Patch())
	return nil
}

// components is a rule that returns components.
type components struct {
	*head
	items        *items
	name         text
	count        number
	requirements requirements
}

// answer adds the components. It fails for a name that is empty, too long or not unique.
func (r *components) answer(q *question) (bool, error) {
	return r.items.each(q, r.when, func() (err error) {
		var one interpreter.Component
		at := spot{r.at, r.name.at.position}
		if one.Name, err = r.name.evaluate(q); err != nil {
			return err
		}
		if !one.Named() {
			return unfit("%s: the name has %d characters: it must have 1 to %d", at, utf8.RuneCountInString(one.Name), interpreter.MaximumComponentName)
		}
		if one.Replicas, err = r.count.evaluate(q); err != nil {
			return err
		}
		if one.Requirements, err = r.requirements.evaluate(q); err != nil {
			return err
		}
		if q.seen[one.Name] {
			return unfit("%s: two components have the same name", at)
		}
		q.seen[one.Name] = true
		q.response.Components = append(q.response.Components, one)
		return nil
	})
}

// dependencies is a rule that returns objects to propagate with another one.
type dependencies struct {
	*head
	items                             *items
	apiVersion, kind, namespace, name text
	// own selects the object's namespace. named is true for a dependency by name, false for one by labels.
	own, named bool
	selector   value
}

func isVersion(text string) bool {
	_, version, ok := splitVersion(text)
	return ok && version != ""
}

// isSelector reports whether raw is a valid Kubernetes label selector.
func isSelector(raw []byte) bool {
	var selector metav1.LabelSelector
	strict, err := kjson.UnmarshalStrict(raw, &selector)
	return err == nil && len(strict) == 0 && len(validation.ValidateLabelSelector(&selector, validation.LabelSelectorValidationOptions{}, nil)) == 0
}

// answer adds the dependencies, without duplicates.
func (d *dependencies) answer(q *question) (bool, error) {
	return d.items.each(q, d.when, func() error {
		one, err := d.evaluate(q)
		if err != nil {
			return err
		}
		key := strings.Join([]string{one.APIVersion, one.Kind, one.Namespace, one.Name, string(one.LabelSelector)}, "\x00")
		if !q.seen[key] {
			q.seen[key] = true
			q.response.Dependencies = append(q.response.Dependencies, one)
		}
		return nil
	})
}

// evaluate evaluates a dependency. It fails if a field is invalid.
func (d *dependencies) evaluate(q *question) (interpreter.Dependency, error) {
	var result interpreter.Dependency
	for _, field := range []struct {
		text text
		into *string
	}{
		{d.apiVersion, &result.APIVersion}, {d.kind, &result.Kind}, {d.namespace, &result.Namespace}, {d.name, &result.Name},
	} {
		var err error
		if *field.into, err = field.text.evaluate(q); err != nil {
			return result, err
		}
	}
	if d.own {
		result.Namespace, _ = q.object.Original().Find("metadata", "namespace").Text()
	}
	selector, err := d.selector.evaluate(q)
	switch {
	case err != nil:
		return result, err
	case !isVersion(result.APIVersion):
		return result, unfit("%s: the result is neither v1 nor group/version", d.apiVersion.at)
	case !isKind(result.Kind):
		return result, unfit("%s: the result is not a kind", d.kind.at)
	case d.named && result.Name == "":
		return result, unfit("%s: the result is empty", d.name.at)
	case !d.named && !isSelector(selector):
		return result, unfit("%s: the result is not a label selector", d.selector.at)
	}
	result.LabelSelector = selector
	return result, nil
}

// edit is a rule that changes an object.
type edit struct {
	*head
	set    []setting
	remove []path
	refuse text
}

// setting is a value with its path.
type setting struct {
	path
	value value
}

// putAll writes values below root.
func putAll(q *question, all []setting, root *document.Node) error {
	for i := range all {
		raw, err := all[i].value.evaluate(q)
		if err != nil {
			return err
		}
		if err := all[i].put(root, raw); err != nil {
			return err
		}
	}
	return nil
}

// answer changes the question's object.
func (e *edit) answer(q *question) (bool, error) { return true, e.applyTo(q, q.object.Root()) }

// applyTo changes the part of the object below root.
func (e *edit) applyTo(q *question, root *document.Node) error {
	if e.refuse.template != nil {
		message, err := e.refuse.evaluate(q)
		if err != nil {
			return err
		}
		return unfit("%s: %s", e.refuse.at.name, message)
	}
	if err := putAll(q, e.set, root); err != nil {
		return err
	}
	for _, removed := range e.remove {
		removed.remove(root)
	}
	return nil
}

// items is a forEach. It is nil if the rule has none.
type items struct {
	at   spot
	list *expression.Template
}

// each calls run for each item of forEach, or once without forEach, if the condition holds. It reports whether it
// called it.
func (f *items) each(q *question, when condition, run func() error) (applied bool, err error) {
	one := func() error {
		holds, err := when.applies(q)
		if err != nil || !holds {
			return err
		}
		applied = true
		return run()
	}
	if f == nil {
		err := one()
		return applied, err
	}
	value, err := f.list.Evaluate(q.ctx, q)
	if err != nil {
		return false, q.broken(f.at, err)
	}
	if value == types.NullValue {
		return false, nil // null counts as an empty list, as for paths
	}
	list, ok := value.(traits.Lister)
	if !ok {
		return false, unfit("%s: the result is %s, not a list", f.at, typeName(value))
	}
	defer func() { q.item = nil }()
	i := 0
	for it := list.Iterator(); it.HasNext() == types.True; i++ {
		if err := q.ended(f.at, i); err != nil {
			return applied, err
		}
		q.item = it.Next()
		if err := one(); err != nil {
			return applied, err
		}
	}
	return applied, nil
}

// retain is a rule that keeps fields of the member cluster, for the object or for each item of a list.
type retain struct {
	*edit
	fields []path
	both   *both
}

// both identifies the items of a list in two objects by a key.
type both struct{ list, key path }

// errUnobserved is the failure of rules that need the observed object if the caller does not send it.
var errUnobserved = errors.New("the observed object is missing")

// answer keeps the fields that the member cluster owns, in the object or in each item of a list.
func (r *retain) answer(q *question) (bool, error) {
	if r.both == nil {
		return true, r.keep(q, q.object.Root(), q.observed.Root())
	}
	return r.keepEach(q)
}

// keep copies the fields from a part of the observed object to the same part of the object and makes the rule's
// changes. It does not restore items that were deleted from the object.
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

// keepEach calls keep for each item that both objects have and whose condition holds. It reports whether there
// is one. Conditions see the item of the original object, and changes apply to that of the object as changed so
// far.
func (r *retain) keepEach(q *question) (applied bool, err error) {
	defer func() { q.item, q.kept = nil, nil }()
	if q.observed == nil {
		return false, unfit("%s: %s", r.both.list.at, errUnobserved)
	}
	came, _, err := r.both.items("the object", q.object.Original())
	_, now, errNow := r.both.items("the object", q.object.Root())
	_, observed, errObserved := r.both.items("the observed object", q.observed.Root())
	if err := cmp.Or(err, errNow, errObserved); err != nil {
		return false, err
	}
	for i, item := range came {
		if err := q.ended(spot{name: r.at}, i); err != nil {
			return applied, err
		}
		key, ok := r.both.keyOf(item)
		if !ok || now[key] == nil || observed[key] == nil {
			continue
		}
		q.item, q.kept = valueOf(item), valueOf(observed[key])
		if holds, err := r.when.applies(q); err != nil {
			return applied, err
		} else if holds {
			applied = true
			if err := r.keep(q, now[key], observed[key]); err != nil {
				return applied, err
			}
		}
		delete(observed, key) // the first item with a key counts
	}
	return applied, nil
}

// items returns the items in an object, in order and by key. The first item with a key counts. It fails if the path
// has a value that is not a list.
func (b *both) items(what string, root *document.Node) (all []*document.Node, byKey map[string]*document.Node, err error) {
	list := b.list.find(root)
	if list != nil && list.Kind() != document.Array {
		return nil, nil, unfit("%s: %s: %s is %s, and must be a list", b.list.at, what, b.list.text, word(list))
	}
	byKey = map[string]*document.Node{}
	for _, item := range list.Items() {
		if key, ok := b.keyOf(item); ok && byKey[key] == nil {
			byKey[key] = item
		}
	}
	return list.Items(), byKey, nil
}

// keyOf returns the key of an item, or false if it has none.
func (b *both) keyOf(item *document.Node) (string, bool) {
	found := b.key.find(item)
	if found == nil {
		return "", false
	}
	return canonical(found), true
}

// status is a rule that selects the reflected part of a status.
type status struct {
	at   string
	keep []path
	set  []setting
	// all selects the whole status.
	all bool
}

// answer adds the fields to the reflected status.
func (s *status) answer(q *question) (bool, error) {
	came, made := q.object.Root().Get("status"), q.made.Root()
	if s.all {
		for key, value := range came.Members() {
			if _, err := made.Set(key, value.Raw()); err != nil {
				return true, unreadable(s.at+": status", err)
			}
		}
	}
	for _, kept := range s.keep {
		if value := kept.find(came); value != nil {
			if err := kept.put(made, value.Raw()); err != nil {
				return true, err
			}
		}
	}
	return true, putAll(q, s.set, made)
}
