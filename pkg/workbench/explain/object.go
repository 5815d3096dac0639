// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// Object describes the effect of each rule for one object, and the reason. docs/reference/output.md describes it as a
// document. Fields may be added, but their meaning does not change within a version.
type Object struct {
	// APIVersion is that of profiles; Kind is Explanation.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Object is the object that is explained.
	Object Identity `json:"object"`
	// About is the flag or the field that was asked for; empty for the whole object.
	About string `json:"about,omitempty"`
	// Before and After are the selected lines of the object as received and as admitted.
	Before []Line `json:"before,omitempty"`
	After  []Line `json:"after,omitempty"`
	// Rules lists the rules for the object in the order of their application, or those that concern the selected field.
	Rules []Rule `json:"rules"`
	// Elsewhere counts the rules of the same sets for other objects.
	Elsewhere int `json:"elsewhere"`
	// Missing are the lookups that found nothing.
	Missing []Lookup `json:"missing,omitempty"`
	// Denied is why the object is not admitted.
	Denied string `json:"denied,omitempty"`
	// Note says why no rule is applied where that is not a matter of the rules.
	Note string `json:"note,omitempty"`

	before, after []render.Line
	sets          map[string]bool
}

// Identity names an object.
type Identity struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// String names the object as people do: Deployment kube-apiserver.
func (i Identity) String() string { return i.Kind + " " + i.Name }

// Rule is one rule with its outcome.
type Rule struct {
	Profile string `json:"profile"`
	// Name is that of the rule with its item.
	Name     string    `json:"name"`
	Set      string    `json:"set"`
	Target   string    `json:"target"`
	Position *Position `json:"position"`
	// Operation is the operation of the rule, such as flags.
	Operation string `json:"operation"`
	// Outcome is changed, unchanged, skipped, overridden, observed, failed or denied; empty where the object was denied before that was known.
	Outcome string `json:"outcome,omitempty"`
	// Reason explains why a rule was skipped or failed, by which rule it was overridden, or its effect if it were
	// applied.
	Reason string `json:"reason,omitempty"`
	// When is the condition with its terms; absent for a rule without, and for one that was skipped before.
	When    *Term  `json:"when,omitempty"`
	ForEach []Term `json:"forEach,omitempty"`
	Steps   []Step `json:"steps,omitempty"`

	writes []mutation.ExplainedWrite
}

// Term is a part of a condition with its value.
type Term struct {
	Text     string    `json:"text"`
	Position *Position `json:"position,omitempty"`
	// Value is the value of the term; for a value from a Secret, it only says so.
	Value string `json:"value,omitempty"`
	// Failed is why it came to nothing; NotEvaluated says that another part had decided already.
	Failed       string `json:"failed,omitempty"`
	NotEvaluated bool   `json:"notEvaluated,omitempty"`
	// Terms are the parts that had a say in it.
	Terms []Term `json:"terms,omitempty"`
	// Each has, for a macro such as exists, the value of its condition for each item up to the deciding one; More
	// counts the omitted items. Item is the name of such a term's item.
	Each []Term `json:"each,omitempty"`
	More int    `json:"more,omitempty"`
	Item string `json:"item,omitempty"`
}

// Step is one place that a rule writes.
type Step struct {
	Place string `json:"place"`
	Value string `json:"value,omitempty"`
	// Kept means that the place keeps the value of the object in the cluster.
	Kept bool `json:"kept,omitempty"`
	// Overridden is the later rule that writes the place differently, so that this one does not.
	Overridden string `json:"overridden,omitempty"`
	// Lines are those that the step changed; none where the object was so already, or the step was not made.
	Lines []Edit `json:"lines,omitempty"`

	step mutation.ExplainedStep
}

// Line is a line of the object.
type Line struct {
	Path string `json:"path"`
	Text string `json:"text"`

	depth int
}

// Edit is a line that a step added or removed.
type Edit struct {
	// Op is add or remove.
	Op string `json:"op"`
	Line
}

// Lookup is a lookup that found nothing.
type Lookup struct {
	Profile string `json:"profile"`
	Name    string `json:"name"`
	// Object is the kind and the name of the object that it reads.
	Object string `json:"object"`
	Reason string `json:"reason"`
}

// Position is a place in a file; lines and columns count from 1.
type Position = render.Position

// Of explains an object, given as JSON: it calls the matching registrations of the program as kube-apiserver does. It
// fails if the JSON is not an object; a denied object is explained as well.
func Of(ctx context.Context, p *mutation.Program, object []byte, a render.Admission, source facts.Source) (*Object, error) {
	change, err := render.NewChange(object)
	if err != nil {
		return nil, err
	}
	var failure *mutation.Failure
	if err := change.Admit(ctx, p, a, source); err != nil && !errors.As(err, &failure) {
		return nil, err
	}
	o := &Object{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "Explanation", Rules: []Rule{}, sets: map[string]bool{},
		Object: Identity{change.APIVersion, change.Kind, change.Namespace, change.Name},
	}
	r := reader{object: o, veil: change.Veil(), hide: change.VeilLine(), lines: map[*byte][]render.Line{}}
	group, version, found := strings.Cut(change.APIVersion, "/")
	if !found {
		group, version = "", group
	}
	current, selected := object, false
	for _, registration := range p.Registrations() {
		if !registration.Selects(a.Namespace, a.Labels) {
			continue
		}
		selected = true
		if !registration.Has(group, change.Kind, change.Name) {
			o.Elsewhere += rulesOf(p, registration)
			continue
		}
		explained, err := p.Explain(ctx, mutation.Request{
			Set: registration.Set, Provider: registration.Provider, Garden: registration.Garden, Operation: a.Operation, Namespace: a.Namespace,
			Name: change.Name, Group: group, Version: version, Kind: change.Kind, Object: current, OldObject: a.Old,
		}, source)
		if err != nil {
			return nil, err
		}
		o.sets[string(registration.Set)] = true
		r.add(explained)
		if current = explained.After; explained.Denied != nil {
			break
		}
	}
	if len(o.Rules) == 0 && o.Note == "" {
		o.Note = unregistered(p, group, change.Kind, change.Name)
	}
	if !selected {
		o.Note = unselected(p, a)
	}
	o.before, o.after = r.shown(object), r.shown(current)
	return o, nil
}

// rulesOf counts the rules of a set and provider.
func rulesOf(p *mutation.Program, r mutation.Registration) int {
	n := 0
	for _, rule := range p.Rules() {
		if rule.Set == r.Set && rule.Provider == r.Provider && rule.Garden == r.Garden {
			n++
		}
	}
	return n
}

// unregistered returns the reason why the rules for an object are not called, or an empty string if there are no rules.
func unregistered(p *mutation.Program, group, kind, name string) string {
	for _, rule := range p.Rules() {
		for _, form := range rule.Target.Forms {
			if kind == "Service" && !rule.Target.Other && form.Is(group, kind, name) {
				return "current versions of Gardener do not allow any mutation of the Service of the kube-apiserver"
			}
		}
	}
	return ""
}

// unselected returns the reason why no webhook is called for the namespace.
func unselected(p *mutation.Program, a render.Admission) string {
	var wanted []string
	for _, r := range p.Registrations() {
		want := "the namespace " + target.GardenNamespace
		if !r.Garden {
			want = r.Set.NamespaceLabel() + "=" + r.Provider
		}
		if !slices.Contains(wanted, want) {
			wanted = append(wanted, want)
		}
	}
	return fmt.Sprintf("no profile is for the namespace %s; they are for %s", a.Namespace, strings.Join(wanted, ", "))
}
