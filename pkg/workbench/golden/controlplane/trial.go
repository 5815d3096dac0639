// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

// trial is a case for one shoot of one version.
type trial struct {
	at         source.Position
	profiles   []string
	parameters map[string]source.Node
	setting    setting
	input      scene.Input
	// more are further objects for the webhooks, in addition to those of the input.
	more       []manifest.Object
	edits, old []edit
	expected   []expectation
	held       held

	program *program
	planes  *planes
	scenes  []*scene.Scene
	err     error
}

// plan builds the scenes as far as that goes without the control planes that are still to be generated.
func (tr *trial) plan(ctx context.Context) {
	if tr.scenes, tr.err = scene.Build(ctx, tr.input, tr.planes); errors.Is(tr.err, errPlanned) {
		tr.scenes, tr.err = nil, nil
	}
}

// Run implements golden.Test.
func (tr *trial) Run(ctx context.Context) golden.Outcome {
	outcome, err := tr.run(ctx)
	if err != nil {
		return golden.Outcome{Err: err}
	}
	return outcome
}

func (tr *trial) run(ctx context.Context) (golden.Outcome, error) {
	if err := errors.Join(tr.program.err, tr.err); err != nil {
		return golden.Outcome{}, err
	}
	if tr.scenes == nil {
		if tr.plan(ctx); tr.err != nil {
			return golden.Outcome{}, tr.err
		}
	}
	defer func() { tr.scenes = nil }() // there may be thousands of trials
	r := &run{trial: tr, tally: tr.program.tally()}
	for _, s := range tr.scenes {
		if err := r.admit(ctx, s); err != nil {
			return golden.Outcome{}, err
		}
	}
	r.unused()
	r.denials()
	for _, e := range tr.expected {
		r.expect(ctx, e)
	}
	if tr.held.path != "" {
		g, err := r.hold(ctx, tr.held)
		if err != nil {
			return golden.Outcome{}, err
		}
		r.outcome.Goldens = []golden.Golden{g}
	}
	r.outcome.Rules = r.tally.rules
	return r.outcome, ctx.Err()
}

// run is a trial while it is run.
type run struct {
	*trial

	objects []*object
	tally   tally
	// edited are the edits that changed an object, those of old behind those of edits.
	edited  map[int]bool
	outcome golden.Outcome
}

// fail adds a failure. It combines the same failure of several objects.
func (r *run) fail(f golden.Failure) {
	for i := range r.outcome.Failures {
		known := &r.outcome.Failures[i]
		if known.At == f.At && known.Path == f.Path && known.Message == f.Message && known.Want == f.Want && known.Got == f.Got &&
			known.Diff == f.Diff && slices.Equal(known.By, f.By) && slices.Equal(known.NotBy, f.NotBy) {
			known.Subject += ", " + f.Subject
			return
		}
	}
	r.outcome.Failures = append(r.outcome.Failures, f)
}

// admit takes the objects of a scene through the webhooks, and again.
func (r *run) admit(ctx context.Context, s *scene.Scene) error {
	objects := slices.Concat(s.Objects, r.more)
	for i, m := range objects {
		o := &object{Object: m, scene: s, program: r.program.Program, purpose: purposeOf(m), old: s.Old[scene.OldKey(m)]}
		if i >= len(s.Objects) && o.Namespace == "" {
			o.Namespace = s.Namespace().Name
		}
		if err := r.edit(o); err != nil {
			return err
		}
		if err := o.admit(ctx); err != nil {
			return err
		}
		r.tally.add(o.applied)
		if o.denied == nil {
			r.again(ctx, o)
		}
		r.objects = append(r.objects, o)
	}
	return nil
}

// edit applies the edits that are of the object.
func (r *run) edit(o *object) error {
	if r.edited == nil {
		r.edited = map[int]bool{}
	}
	came := o.JSON
	for i, e := range slices.Concat(r.edits, r.trial.old) {
		if !e.matches(o.Object, o.purpose, o.garden()) {
			continue
		}
		into := &o.JSON
		if i >= len(r.edits) {
			if into = &o.old; o.old == nil {
				o.old = came
			}
		}
		edited, err := e.apply(*into)
		if err != nil {
			return source.Findings{e.at.Finding("", "editing %s: %s", o.Object, err)}
		}
		*into, r.edited[i] = edited, true
	}
	return nil
}

// unused finds edits of objects that are not there.
func (r *run) unused() {
	for i, e := range slices.Concat(r.edits, r.trial.old) {
		if !r.edited[i] {
			r.fail(golden.Failure{At: e.at.Position(), Subject: e.title, Message: r.none(e.selector)})
		}
	}
}

// again checks that a second admission, as a creation and as an update, changes nothing.
func (r *run) again(ctx context.Context, o *object) {
	if len(o.applied) == 0 {
		return
	}
	for _, second := range []struct {
		what string
		old  []byte
		skip bool
	}{
		{"the webhooks are called a second time", o.old, !o.changed()},
		{"it is updated as it is", o.result, false},
	} {
		if second.skip {
			continue
		}
		result, _, err := o.pass(ctx, o.result, second.old)
		switch {
		case err != nil && ctx.Err() != nil:
			return
		case err != nil:
			r.fail(golden.Failure{At: r.at, Subject: o.String(), Message: "is denied when " + second.what + ": " + err.Error()})
		case !bytes.Equal(result, o.result):
			r.fail(golden.Failure{
				At: r.at, Subject: o.String(), Message: "changes once more when " + second.what, Diff: lineDiff(o.result, result),
			})
		}
	}
}

// denials reports unexpectedly denied objects.
func (r *run) denials() {
	for _, o := range r.objects {
		if o.denied == nil {
			continue
		}
		if !slices.ContainsFunc(r.expected, func(e expectation) bool { return r.means(e, o) && e.isDenied() }) && r.held.path == "" {
			r.fail(golden.Failure{At: r.at, Subject: o.String(), Message: "is denied: " + o.reason()})
		}
	}
}

// means reports whether an expectation concerns an object.
func (r *run) means(e expectation, o *object) bool {
	if !e.others {
		return e.matches(o.Object, o.purpose, o.garden())
	}
	return !slices.ContainsFunc(r.expected, func(other expectation) bool {
		return !other.others && other.matches(o.Object, o.purpose, o.garden())
	})
}

// none reports that a selector matches no object, and names similar objects.
func (r *run) none(s selector) string {
	text := "the control plane has no such object"
	if s.target != nil {
		return text + " (the word absent expects that)"
	}
	var names []string
	for _, o := range r.objects {
		if o.Kind == s.kind {
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return text + ", and none of kind " + s.kind
	}
	return fmt.Sprintf("%s; of kind %s are %s", text, s.kind, strings.Join(names, ", "))
}
