// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// defaults is the author of what the API server adds to what rules wrote, such as the mode of a volume.
var defaults = render.Author{Rule: "default of the API"}

// subject is one object of the control plane: what it is without webhooks, what the engine makes of it, and in the end what
// the API server stored.
type subject struct {
	sample sample.Object
	change *render.Change
	// touched says that the engine changes the object.
	touched bool
	// refused is why it is not to be admitted: the engine denies it, or the API server what the rules make of it; else nil.
	refused error
	// problems say in what the API server differs from the engine, and difference shows it where an object was stored.
	problems   []string
	difference *render.Change
}

func (s *subject) problem(format string, arguments ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, arguments...))
}

func (s *subject) name() string { return s.change.Kind + " " + s.change.Name }

// each runs a step for all subjects, a few at a time.
func each(ctx context.Context, subjects []*subject, step func(context.Context, *subject) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(6)
	for _, s := range subjects {
		group.Go(func() error { return step(ctx, s) })
	}
	return group.Wait()
}

// prepare finds out what the API server and the engine make of the object.
func (g *stage) prepare(ctx context.Context, s *subject) error {
	before, err := g.withoutWebhooks(ctx, s.sample.JSON)
	if err != nil {
		return err
	}
	if s.change, err = render.NewChange(before); err != nil {
		return err
	}
	var failure *mutation.Failure
	if err := s.change.Admit(ctx, g.program, g.admission(), g.source); errors.As(err, &failure) {
		s.refused = err
		return nil
	} else if err != nil {
		return err
	}
	s.touched = !bytes.Equal(before, s.change.Bytes())
	if !s.touched {
		return nil
	}
	expected, err := g.withoutWebhooks(ctx, s.change.Bytes())
	switch {
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		s.refused = fmt.Errorf("the API server refuses what the rules make of it: %w", err)
		return nil
	case err != nil:
		return err
	}
	return s.change.Complete(defaults, expected)
}

func (g *stage) admission() render.Admission {
	return render.Admission{Namespace: g.namespace.Name, Labels: g.namespace.Labels, Operation: "CREATE"}
}

// withoutWebhooks asks the API server what it would store where no webhook is called.
func (g *stage) withoutWebhooks(ctx context.Context, raw []byte) ([]byte, error) {
	return g.dryRun(ctx, raw, unlabelled)
}

func (g *stage) dryRun(ctx context.Context, raw []byte, namespace string) ([]byte, error) {
	object, err := decode(raw)
	if err != nil {
		return nil, err
	}
	object.SetNamespace(namespace)
	if err := g.client.Create(ctx, object, client.DryRunAll); err != nil {
		return nil, fmt.Errorf("asking the API server about %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	object.SetNamespace(g.namespace.Name)
	return encode(object)
}

// waitCalled returns when the API server stores the first of the subjects as expected: it learns of a registration, and the
// extension of a changed profile, a moment after they were written. It gives up silently, and the comparison will then show
// what is wrong.
func (g *stage) waitCalled(ctx context.Context, subjects []*subject) {
	if len(subjects) == 0 {
		return
	}
	const attempts, pause = 100, 50 * time.Millisecond
	for range attempts {
		got, err := g.dryRun(ctx, subjects[0].sample.JSON, g.namespace.Name)
		if ctx.Err() != nil || subjects[0].expects(got, err) {
			return
		}
		time.Sleep(pause)
	}
}

// expects says whether this is the answer that the API server must give.
func (s *subject) expects(got []byte, err error) bool {
	if s.refused != nil {
		return err != nil
	}
	return err == nil && bytes.Equal(got, s.change.Bytes())
}

// deploy creates the object, reads back what was stored, and notes in what that differs from the engine's result.
func (g *stage) deploy(ctx context.Context, s *subject) error {
	object, err := decode(s.sample.JSON)
	if err != nil {
		return err
	}
	denied := g.client.Create(ctx, object)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.compareDenials(denied) {
		return nil
	}
	if err := g.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return fmt.Errorf("reading %s back: %w", s.name(), err)
	}
	stored, err := encode(object)
	if err != nil {
		return err
	}
	return g.verify(ctx, s, stored)
}

// compareDenials says whether the object was denied, by the API server, by the engine, or by both, and notes it.
func (s *subject) compareDenials(denied error) bool {
	s.change.Denied = denied
	switch {
	case denied == nil && s.refused == nil:
		return false
	case s.refused == nil:
		s.problem("it was denied, and the engine admits it: %v", denied)
	case denied == nil:
		s.problem("it was admitted, and the engine denies it: %v", s.refused)
	default:
		s.problem("it was denied: %v", denied)
	}
	return true
}

// verify compares what was stored with what the engine made, and lets the engine look at it again.
func (g *stage) verify(ctx context.Context, s *subject, stored []byte) error {
	if !bytes.Equal(stored, s.change.Bytes()) {
		s.problem("what was stored (+) is not what the profiles make of it (-)")
		var err error
		if s.difference, err = render.NewChange(s.change.Bytes()); err != nil {
			return err
		}
		s.difference.HideAs(s.change)
		if err := s.difference.Become(render.NoRule, stored); err != nil {
			return err
		}
	}
	again, err := render.NewChange(stored)
	if err != nil {
		return err
	}
	s.compareSecond(again, stored, again.Admit(ctx, g.program, g.admission(), g.source))
	return nil
}

// compareSecond notes what the engine would do with the stored object; there must be nothing.
func (s *subject) compareSecond(again *render.Change, stored []byte, refused error) {
	if refused != nil {
		s.problem("what was stored could not be admitted again: %v", refused)
	}
	if bytes.Equal(again.Bytes(), stored) {
		return
	}
	for _, applied := range again.Applied {
		if applied.Outcome == mutation.Changed {
			s.problem("rule %s at %s would still change what was stored", applied.Name(), applied.Position)
		}
	}
}

func decode(raw []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("decoding an object: %w", err)
	}
	return object, nil
}

// encode writes an object with sorted members and without what the API server allocates: that is different each time.
func encode(object *unstructured.Unstructured) ([]byte, error) {
	object = object.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	if object.GetKind() == "Service" {
		for _, field := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
			unstructured.RemoveNestedField(object.Object, "spec", field)
		}
		ports, _, err := unstructured.NestedSlice(object.Object, "spec", "ports")
		if err != nil {
			return nil, fmt.Errorf("reading the ports of a Service: %w", err)
		}
		for _, port := range ports {
			if fields, ok := port.(map[string]any); ok {
				delete(fields, "nodePort")
			}
		}
		if err := unstructured.SetNestedSlice(object.Object, ports, "spec", "ports"); err != nil {
			return nil, fmt.Errorf("writing the ports of a Service: %w", err)
		}
	}
	raw, err := json.Marshal(object.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding an object: %w", err)
	}
	return raw, nil
}
