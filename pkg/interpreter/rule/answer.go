// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
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

// head is the common part of all rules.
type head struct {
	// at is the rule in messages: profile and path.
	at   string
	when condition
	// refuses is true for a rule that refuses the object.
	refuses bool
}

func (h *head) common() *head { return h }

// aggregate is a rule that sets one field of the status.
type aggregate struct {
	head
	field   path
	combine combine
}

// answerAggregate sets the fields of all rules that apply, in order.
func (r *rules) answerAggregate(q *question) (interpreter.Response, error) {
	q.because = make([]string, 0, len(r.aggregate))
	for i := range r.aggregate {
		rule := &r.aggregate[i]
		q.trace.begin(q, rule.at)
		holds, err := q.applies(rule.when)
		if err != nil {
			return interpreter.Response{}, err
		}
		if !holds {
			continue
		}
		q.because = append(q.because, rule.at)
		raw, err := rule.combine(q)
		if err != nil {
			return interpreter.Response{}, err
		}
		if err := rule.field.put(q.object.Root(), raw); err != nil {
			return interpreter.Response{}, err
		}
	}
	return q.patched()
}

// components is a rule that returns components.
type components struct {
	head
	items        *items
	name         text
	count        number
	requirements requirements
}

// answerComponents collects the components of all rules that apply. It fails for duplicate names.
func (r *rules) answerComponents(q *question) (interpreter.Response, error) {
	found := []interpreter.Component{}
	names := map[string]bool{}
	for i := range r.components {
		rule, before := &r.components[i], len(found)
		q.trace.begin(q, rule.at)
		err := rule.items.each(q, func() error {
			holds, err := q.applies(rule.when)
			if err != nil || !holds {
				return err
			}
			component, err := rule.of(q)
			if err != nil {
				return err
			}
			if names[component.Name] {
				return unfit("%s: two components have the same name", spot{rule.at, rule.name.at.position})
			}
			names[component.Name] = true
			found = append(found, component)
			return nil
		})
		if err != nil {
			return interpreter.Response{}, err
		}
		if len(found) > before {
			q.because = append(q.because, rule.at)
		}
	}
	return interpreter.Response{Components: found}, nil
}

// of evaluates a component. It fails if the name is empty or too long.
func (r *components) of(q *question) (interpreter.Component, error) {
	name, err := r.name.of(q)
	if err != nil {
		return interpreter.Component{}, err
	}
	if !(interpreter.Component{Name: name}).Named() {
		return interpreter.Component{}, unfit("%s: the name has %d characters: it must have 1 to %d",
			spot{r.at, r.name.at.position}, utf8.RuneCountInString(name), interpreter.MaximumComponentName)
	}
	count, err := r.count.of(q)
	if err != nil {
		return interpreter.Component{}, err
	}
	needed, err := r.requirements.of(q)
	return interpreter.Component{Name: name, Replicas: count, Requirements: needed}, err
}

// dependencies is a rule that returns objects to propagate with another one.
type dependencies struct {
	head
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

// answerDependencies collects the dependencies of all rules that apply, without duplicates.
func (r *rules) answerDependencies(q *question) (interpreter.Response, error) {
	found := []interpreter.Dependency{}
	seen := map[string]bool{}
	for i := range r.dependencies {
		rule, applied := &r.dependencies[i], false
		q.trace.begin(q, rule.at)
		err := rule.items.each(q, func() error {
			holds, err := q.applies(rule.when)
			if err != nil || !holds {
				return err
			}
			d, err := rule.of(q)
			if err != nil {
				return err
			}
			applied = true
			key := strings.Join([]string{d.APIVersion, d.Kind, d.Namespace, d.Name, string(d.LabelSelector)}, "\x00")
			if !seen[key] {
				seen[key] = true
				found = append(found, d)
			}
			return nil
		})
		if err != nil {
			return interpreter.Response{}, err
		}
		if applied {
			q.because = append(q.because, rule.at)
		}
	}
	return interpreter.Response{Dependencies: found}, nil
}

// of evaluates a dependency. It fails if a field is invalid.
func (d *dependencies) of(q *question) (interpreter.Dependency, error) {
	var result interpreter.Dependency
	for _, field := range []struct {
		text text
		into *string
	}{
		{d.apiVersion, &result.APIVersion}, {d.kind, &result.Kind}, {d.namespace, &result.Namespace}, {d.name, &result.Name},
	} {
		var err error
		if *field.into, err = field.text.of(q); err != nil {
			return result, err
		}
	}
	if d.own {
		result.Namespace = q.object.CameText("metadata", "namespace")
	}
	selector, err := d.selector.of(q)
	switch {
	case err != nil:
		return result, err
	case !isVersion(result.APIVersion):
		return result, unfit("%s: the result is neither v1 nor group/version", d.apiVersion.at)
	case !kindName.MatchString(result.Kind):
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
	head
	set    []setting
	remove []path
	refuse text
}

// setting is a value with its path.
type setting struct {
	path
	value value
}

// apply changes the question's object.
func (e *edit) apply(q *question) error { return e.applyTo(q, q.object.Root()) }

// applyTo changes the part of the object below root.
func (e *edit) applyTo(q *question, root *document.Node) error {
	if e.refuse.template != nil {
		message, err := e.refuse.of(q)
		if err != nil {
			return err
		}
		return unfit("%s: %s", e.refuse.at.name, message)
	}
	for i := range e.set {
		raw, err := e.set[i].value.of(q)
		if err != nil {
			return err
		}
		if err := e.set[i].put(root, raw); err != nil {
			return err
		}
	}
	for _, removed := range e.remove {
		removed.remove(root)
	}
	return nil
}

// applied applies all rules whose conditions hold, in order. Conditions refer to the original object.
func applied(q *question, rules []edit) (interpreter.Response, error) {
	for i := range rules {
		if err := rules[i].run(q, rules[i].apply); err != nil {
			return interpreter.Response{}, err
		}
	}
	return q.patched()
}

// run applies a rule if its condition holds.
func (e *edit) run(q *question, apply func(*question) error) error {
	q.trace.begin(q, e.at)
	holds, err := q.applies(e.when)
	if err != nil || !holds {
		return err
	}
	q.because = append(q.because, e.at)
	return apply(q)
}

// answerRevise sets another number of replicas.
func (r *rules) answerRevise(q *question) (interpreter.Response, error) { return applied(q, r.revise) }

// items is a forEach. It is nil if the rule has none.
type items struct {
	at   spot
	list *expression.Template
}

// each calls run for each item of forEach, or once without forEach.
func (f *items) each(q *question, run func() error) error {
	if f == nil {
		return run()
	}
	value, err := f.list.Evaluate(q.ctx, q)
	if err != nil {
		return q.broken(f.at, err)
	}
	if value == types.NullValue {
		return nil // null counts as an empty list, as for paths
	}
	list, ok := value.(traits.Lister)
	if !ok {
		return unfit("%s: the result is %s, not a list", f.at, typeName(value))
	}
	defer func() { q.item = nil }()
	i := 0
	for it := list.Iterator(); it.HasNext() == types.True; i++ {
		if err := q.ended(f.at, i); err != nil {
			return err
		}
		q.item = it.Next()
		if err := run(); err != nil {
			return err
		}
	}
	return nil
}

// health is a rule for the health of an object.
type health struct {
	head
	healthy condition
}

// answerHealth returns the result of the first rule that applies.
func (r *rules) answerHealth(q *question) (interpreter.Response, error) {
	for i := range r.health {
		h := &r.health[i]
		q.trace.begin(q, h.at)
		switch holds, err := q.applies(h.when); {
		case err != nil:
			return interpreter.Response{}, err
		case !holds:
			continue
		}
		healthy, err := h.healthy.holds(q)
		q.because = append(q.because, h.at)
		return interpreter.Response{Healthy: &healthy}, err
	}
	return interpreter.Response{}, none(interpreter.Health)
}

// rules are the rules of a kind, by operation.
type rules struct {
	replicas     []replicas
	components   []components
	revise       []edit
	retain       []retain
	aggregate    []aggregate
	status       []status
	health       []health
	dependencies []dependencies
	prune        []edit
	// listed has the heads of all rules, by operation. It is set in a Program.
	listed map[interpreter.Operation][]*head
}

// heads returns the heads of all rules, by operation.
func (r *rules) heads() map[interpreter.Operation][]*head {
	return map[interpreter.Operation][]*head{
		interpreter.Replicas: headsOf(r.replicas), interpreter.Components: headsOf(r.components), interpreter.Revise: headsOf(r.revise),
		interpreter.Retain: headsOf(r.retain), interpreter.Aggregate: headsOf(r.aggregate), interpreter.Status: headsOf(r.status),
		interpreter.Health: headsOf(r.health), interpreter.Dependencies: headsOf(r.dependencies), interpreter.Prune: headsOf(r.prune),
	}
}

func headsOf[R any, P interface {
	*R
	common() *head
}](all []R) []*head {
	heads := make([]*head, len(all))
	for i := range all {
		heads[i] = P(&all[i]).common()
	}
	return heads
}

// and returns the rules of both, those of o last.
func (r *rules) and(o *rules) *rules {
	return &rules{
		replicas: slices.Concat(r.replicas, o.replicas), components: slices.Concat(r.components, o.components),
		revise: slices.Concat(r.revise, o.revise), retain: slices.Concat(r.retain, o.retain),
		aggregate: slices.Concat(r.aggregate, o.aggregate), status: slices.Concat(r.status, o.status),
		health: slices.Concat(r.health, o.health), dependencies: slices.Concat(r.dependencies, o.dependencies),
		prune: slices.Concat(r.prune, o.prune),
	}
}

// none returns the failure of an operation that requires a rule that applies.
func none(o interpreter.Operation) error { return unfit("no rule of %s applies to the object", o) }

// patched returns the response with the changes to the object.
func (q *question) patched() (interpreter.Response, error) {
	q.trace.end(q, nil)
	if err := q.object.Err(); err != nil {
		return interpreter.Response{}, unreadable("the object", err)
	}
	return interpreter.Response{Patch: slices.Clone(q.object.Patch())}, nil
}

// answerPrune removes what is not packed for members.
func (r *rules) answerPrune(q *question) (interpreter.Response, error) { return applied(q, r.prune) }

// replicas is a rule for the number of replicas.
type replicas struct {
	head
	count        number
	requirements requirements
}

// answerReplicas returns the result of the first rule that applies.
func (r *rules) answerReplicas(q *question) (interpreter.Response, error) {
	for i := range r.replicas {
		rule := &r.replicas[i]
		q.trace.begin(q, rule.at)
		switch holds, err := q.applies(rule.when); {
		case err != nil:
			return interpreter.Response{}, err
		case !holds:
			continue
		}
		q.because = append(q.because, rule.at)
		count, err := rule.count.of(q)
		if err != nil {
			return interpreter.Response{}, err
		}
		needed, err := rule.requirements.of(q)
		return interpreter.Response{Replicas: &count, Requirements: needed}, err
	}
	return interpreter.Response{}, none(interpreter.Replicas)
}

// retain is a rule that keeps fields of the member cluster, for the object or for each item of a list.
type retain struct {
	edit
	fields []path
	both   *both
}

// both identifies the items of a list in two objects by a key.
type both struct{ list, key path }

// errUnobserved is the failure of rules that need the observed object if the caller does not send it.
var errUnobserved = errors.New("the observed object is missing")

// apply copies the fields from the observed object and makes the rule's changes. It does not restore items that
// were deleted from the object.
func (r *retain) apply(q *question) error { return r.keep(q, q.object.Root(), q.observed.Root()) }

// keep is apply for a part of the object and the same part of the observed object.
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

// applyEach calls keep for each item that both objects have and whose condition holds. It reports whether there
// is one.
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
		holds, err := q.applies(r.when)
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

// paired has the items of a list: from the original object in order, and by key from the object as changed so
// far and from the observed object.
type paired struct {
	came          []*document.Node
	now, observed map[string]*document.Node
}

// read returns the items of both objects. It fails if the path has a value that is not a list.
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

// itemsOf returns the items in an object, or none if the path does not exist.
func (b *both) itemsOf(what string, root *document.Node) ([]*document.Node, error) {
	list := b.list.find(root)
	if list != nil && list.Kind() != document.Array {
		return nil, unfit("%s: %s: %s is %s, and must be a list", b.list.at, what, b.list.text, word(list))
	}
	return list.Items(), nil
}

// of returns the items in an object by key. The first item with a key counts.
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

// keyOf returns the key of an item, or false if it has none.
func (b *both) keyOf(item *document.Node) (string, bool) {
	found := b.key.find(item)
	if found == nil {
		return "", false
	}
	return canonical(found), true
}

// answerRetain keeps the fields that the member cluster owns.
func (r *rules) answerRetain(q *question) (interpreter.Response, error) {
	for i := range r.retain {
		if err := r.retain[i].ask(q); err != nil {
			return interpreter.Response{}, err
		}
	}
	return q.patched()
}

// ask applies the rule if its condition holds.
func (r *retain) ask(q *question) error {
	if r.both == nil {
		return r.run(q, r.apply)
	}
	q.trace.begin(q, r.at)
	applied, err := r.applyEach(q)
	if applied {
		q.because = append(q.because, r.at)
	}
	return err
}

// status is a rule that selects the reflected part of a status.
type status struct {
	head
	keep []path
	set  []setting
	// all selects the whole status.
	all bool
}

// answerStatus returns the status that all applicable rules together reflect.
func (r *rules) answerStatus(q *question) (interpreter.Response, error) {
	came := q.object.Root().Get("status")
	made, err := q.object.Root().Parse([]byte("{}")) // allocated in the object's memory
	if err != nil {
		return interpreter.Response{}, unreadable("the status", err)
	}
	for i := range r.status {
		rule := &r.status[i]
		q.trace.begin(q, rule.at)
		holds, err := q.applies(rule.when)
		if err != nil {
			return interpreter.Response{}, err
		}
		if !holds {
			continue
		}
		q.because = append(q.because, rule.at)
		if err := rule.reflect(q, came, made.Root()); err != nil {
			return interpreter.Response{}, err
		}
	}
	return interpreter.Response{Status: slices.Clone(json.RawMessage(made.Root().Raw()))}, nil
}

// reflect copies and computes the fields of a rule.
func (s *status) reflect(q *question, came, made *document.Node) error {
	if s.all {
		return s.reflectAll(came, made)
	}
	for _, kept := range s.keep {
		if value := kept.find(came); value != nil {
			if err := kept.put(made, value.Raw()); err != nil {
				return err
			}
		}
	}
	for _, set := range s.set {
		raw, err := set.value.of(q)
		if err != nil {
			return err
		}
		if err := set.put(made, raw); err != nil {
			return err
		}
	}
	return nil
}

// reflectAll copies the whole status into made, and keeps other fields of made.
func (s *status) reflectAll(came, made *document.Node) error {
	if made.Len() == 0 && came.Kind() == document.Object {
		if err := made.Replace(came.Raw()); err != nil {
			return unreadable(s.at+": status", err)
		}
		return nil
	}
	for key, value := range came.Members() {
		if _, err := made.Set(key, value.Raw()); err != nil {
			return unreadable(s.at+": status", err)
		}
	}
	return nil
}
