// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package explain describes flags, feature gates and admission plugins (Static), and the effect of each rule of the
// loaded profiles on one object, with the reason (Of). Both return data that a TextStyle writes as text, or that
// encoding/json writes as JSON.
//
// It reads no files and no terminal. Its results contain no values of Secrets. Start reading at Static and Of.
package explain

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/explanation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// Explanation describes the effect of each rule for one object, and the reason. docs/usage/output.md describes it as a
// document. Fields may be added, but their meaning does not change within a version.
type Explanation struct {
	// APIVersion is the apiVersion of profiles; Kind is Explanation.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Object is the explained object.
	Object Identity `json:"object"`
	// Rules lists the rules for the object in the order of their application.
	Rules []AppliedRule `json:"rules"`
	// Missing are the lookups that found nothing.
	Missing []MissingLookup `json:"missing,omitempty"`
	// Denied is why the object is not admitted.
	Denied string `json:"denied,omitempty"`
	// Note explains why no rule is applied, if the rules themselves are not the reason.
	Note string `json:"note,omitempty"`
}

// Identity names an object.
type Identity struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// String returns the object's kind and name: Deployment kube-apiserver.
func (i Identity) String() string { return i.Kind + " " + i.Name }

// AppliedRule is one rule with its outcome.
type AppliedRule struct {
	Profile string `json:"profile"`
	// Name is the name of the rule with its item.
	Name     string          `json:"name"`
	Set      string          `json:"set"`
	Target   string          `json:"target"`
	Position source.Position `json:"position"`
	// Operation is the operation of the rule, such as flags.
	Operation string `json:"operation"`
	// Outcome is changed, unchanged, skipped, overridden, observed, failed or denied; empty if the object was denied
	// before the outcome was known.
	Outcome string `json:"outcome,omitempty"`
	// Reason explains why a rule was skipped or failed, by which rule it was overridden, or its effect if it were
	// applied.
	Reason string `json:"reason,omitempty"`
	// When is the condition with its terms; absent for a rule without, and for one that was skipped before.
	When    *explanation.ExplainedTerm  `json:"when,omitempty"`
	ForEach []explanation.ExplainedTerm `json:"forEach,omitempty"`
	Steps   []Step                      `json:"steps,omitempty"`
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
	Lines []render.LineEdit `json:"lines,omitempty"`

	applied bool
}

// MissingLookup is a lookup that found nothing.
type MissingLookup struct {
	Profile string `json:"profile"`
	Name    string `json:"name"`
	// Object is the kind and the name of the object that it reads.
	Object string `json:"object"`
	Reason string `json:"reason"`
}

// Of explains an object, given as JSON: it calls the matching registrations of the program as kube-apiserver does. It
// fails if the JSON is not an object; a denied object is explained as well.
func Of(ctx context.Context, p *mutation.Program, object []byte, a render.Admission, source facts.Source) (*Explanation, error) {
	change, err := render.NewChange(object)
	if err != nil {
		return nil, err
	}
	var failure *mutation.Failure
	if err := change.Admit(ctx, p, a, source); err != nil && !errors.As(err, &failure) {
		return nil, err
	}
	o := &Explanation{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "Explanation", Rules: []AppliedRule{},
		Object: Identity{change.APIVersion, change.Kind, change.Namespace, change.Name},
	}
	r := reader{object: o, change: change}
	current, selected := object, false
	for _, registration := range p.Registrations() {
		if !registration.Selects(a.Namespace, a.Labels) {
			continue
		}
		selected = true
		request := change.Request(registration, a, current)
		if !registration.Has(request.Group, change.Kind, change.Name) {
			continue
		}
		explained, err := explanation.Of(ctx, p, request, source)
		if err != nil {
			return nil, err
		}
		r.add(explained)
		if current = explained.After; explained.Denied != nil {
			break
		}
	}
	if len(o.Rules) == 0 && o.Note == "" {
		o.Note = unregistered(p, change)
	}
	if !selected {
		o.Note = unselected(p, a)
	}
	return o, nil
}

// unregistered returns the reason why the rules for an object are not called, or an empty string if there are no rules.
func unregistered(p *mutation.Program, c *render.Change) string {
	for _, rules := range p.Selections() {
		if c.Kind == "Service" && !rules.Target.Other && rules.Form.Is("", c.Kind, c.Name) {
			return "current versions of Gardener do not allow any mutation of the Service of the kube-apiserver"
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

// reader converts the engine's explanation of an object for display.
type reader struct {
	object *Explanation
	// change hides values of Secrets.
	change *render.Change
}

// add adds the effects of one set of webhooks.
func (r *reader) add(e *explanation.Explanation) {
	if e.Denied != nil {
		r.object.Denied = r.change.RedactMessage(e.Denied.Error())
	}
	if e.Deleting {
		r.object.Note = "the object is being deleted: no rule is applied"
	}
	for _, missing := range e.Missing {
		l := missing.Lookup
		r.object.Missing = append(r.object.Missing, MissingLookup{
			Profile: l.Scope.Profile, Name: l.Request.Name, Object: l.Request.Kind + " " + l.Shown, Reason: missing.Error(),
		})
	}
	for i := range e.Rules {
		r.object.Rules = append(r.object.Rules, r.rule(&e.Rules[i]))
	}
}

func (r *reader) rule(e *explanation.ExplainedRule) AppliedRule {
	rule := AppliedRule{
		Profile: e.Profile, Name: e.Name(), Set: string(e.Set), Target: e.Target, Position: e.Position, Operation: e.Operation,
		Outcome: string(e.Outcome), Reason: e.Reason, When: e.When, ForEach: e.ForEach,
	}
	if e.Failed != nil {
		failure, ok := errors.AsType[*mutation.Failure](e.Failed)
		rule.Outcome = failed
		if ok && failure.By != nil {
			rule.Outcome = string(mutation.Denied) // its condition is true
		}
		reason := e.Failed.Error()
		if ok && failure.Err != nil && strings.HasPrefix(failure.Message, "rule ") {
			reason = failure.Err.Error() // the name of the rule precedes it in the output
		}
		rule.Reason = r.change.RedactMessage(reason)
	}
	for _, step := range e.Steps {
		rule.Steps = append(rule.Steps, r.step(step))
	}
	return rule
}

func (r *reader) step(s explanation.ExplainedStep) Step {
	step := Step{Place: s.Place.String(), Kept: s.Kept, Overridden: s.Overridden, applied: s.After != nil}
	if !s.Kept {
		step.Value = s.Value.String()
	}
	if s.Before == nil || s.After == nil {
		return step
	}
	before, err := render.Text(s.Before)
	if err != nil {
		return step // the object was read before
	}
	after, err := render.Text(s.After)
	if err != nil {
		return step
	}
	blame := render.NewBlame(before)
	blame.Advance(render.Author{}, after)
	for _, edit := range blame.Edits() {
		if edit.Op != render.Same {
			edit.Line = r.change.RedactLine(edit.Line)
			step.Lines = append(step.Lines, render.LineEditOf(edit))
		}
	}
	return step
}

// shortKinds lists the short names of kinds in kubectl, in addition to the kind itself and its plural.
var shortKinds = map[string]string{
	"deploy": "Deployment", "sts": "StatefulSet", "ds": "DaemonSet", "svc": "Service", "cm": "ConfigMap", "osc": "OperatingSystemConfig",
	"vpa": "VerticalPodAutoscaler",
}

// ErrAmbiguous is wrapped by the error of a word that names several objects.
var ErrAmbiguous = errors.New("may be any of")

// Find finds the object named by kind/name. The kind may be lower-case, plural or short, and the name a unique prefix,
// or a pattern with *. The error lists the existing objects.
func Find(objects []manifest.Object, word string) (manifest.Object, error) {
	kind, name, ok := strings.Cut(word, "/")
	if !ok || kind == "" || name == "" {
		return manifest.Object{}, fmt.Errorf("%q is not an object: write kind/name, such as deployment/kube-apiserver", word)
	}
	var (
		ofKind, begin []manifest.Object
		all, names    []string
	)
	for _, o := range objects {
		all = append(all, wordOf(o))
		if !isKind(o.Kind, kind) {
			continue
		}
		if o.Name == name {
			return o, nil
		}
		ofKind, names = append(ofKind, o), append(names, o.Name)
		if matches, _ := path.Match(name, o.Name); matches || strings.HasPrefix(o.Name, name) {
			begin = append(begin, o)
		}
	}
	switch {
	case len(begin) == 1:
		return begin[0], nil
	case len(begin) > 1:
		return manifest.Object{}, fmt.Errorf("%s %w %s", word, ErrAmbiguous, list(begin))
	case len(ofKind) > 0:
		hint := source.Suggest(name, names)
		if hint == "" {
			hint = "; there are " + list(ofKind)
		}
		return manifest.Object{}, fmt.Errorf("there is no %s %q%s", ofKind[0].Kind, name, hint)
	}
	hint := source.Suggest(word, all)
	if hint == "" {
		hint = "; there are " + list(objects)
	}
	return manifest.Object{}, fmt.Errorf("there is no object %s%s", word, hint)
}

func isKind(kind, word string) bool {
	return strings.EqualFold(kind, word) || strings.EqualFold(kind+"s", word) || shortKinds[strings.ToLower(word)] == kind
}

// wordOf returns the name of an object on a command line.
func wordOf(o manifest.Object) string { return strings.ToLower(o.Kind) + "/" + o.Name }

// list names objects, not too many.
func list(objects []manifest.Object) string {
	const most = 12
	var words []string
	for _, o := range objects {
		if word := wordOf(o); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if len(words) > most {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more", len(words)-most)
	}
	if words == nil {
		return "none"
	}
	return strings.Join(words, ", ")
}
