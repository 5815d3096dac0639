// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

// object is an object of a case with its result.
type object struct {
	manifest.Object

	scene   *scene.Scene
	program *mutation.Program
	purpose string
	old     []byte

	result  []byte
	applied []mutation.Applied
	denied  *mutation.Failure
	told    *render.Change
}

// purposeOf returns the purpose of an OperatingSystemConfig, or an empty string for other objects.
func purposeOf(o manifest.Object) string {
	if o.Kind != "OperatingSystemConfig" {
		return ""
	}
	var m struct {
		Spec struct {
			Purpose string `json:"purpose"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(o.JSON, &m) // it is an object, and one without a purpose has none
	return m.Spec.Purpose
}

func (o *object) garden() bool { return o.scene.Namespace().Name == target.GardenNamespace }

func (o *object) changed() bool { return !bytes.Equal(o.result, o.JSON) }

// reason returns the reason of the denial.
func (o *object) reason() string { return string(o.denied.Reason) + ": " + o.denied.Error() }

// admit calls the webhooks for the object. It fails if there is no result; a denial is a result.
func (o *object) admit(ctx context.Context) error {
	var err error
	o.result, o.applied, err = o.pass(ctx, o.JSON, o.old)
	if err == nil || errors.As(err, &o.denied) {
		return ctx.Err()
	}
	return fmt.Errorf("%s: %w", o, err)
}

// pass returns the object after the webhooks in this state: each matching one is called once, in the order of
// kube-apiserver. The error is a *mutation.Failure.
func (o *object) pass(ctx context.Context, object, old []byte) ([]byte, []mutation.Applied, error) {
	var applied []mutation.Applied
	operation := "CREATE"
	if old != nil {
		operation = "UPDATE"
	}
	for _, registration := range o.scene.Selected(o.program, o.Object) {
		scanned, err := document.Parse(object)
		if err != nil {
			return nil, applied, fmt.Errorf("reading the object: %w", err)
		}
		result, err := o.program.Admit(ctx, mutation.Request{
			Set: registration.Set, Provider: registration.Provider, Garden: registration.Garden, Operation: operation,
			Namespace: o.scene.Namespace().Name, Name: o.Name, Group: o.Group(), Version: o.version(), Kind: o.Kind,
			Document: scanned, OldObject: old,
		}, o.scene.Source())
		if err != nil {
			if failure := new(mutation.Failure); errors.As(err, &failure) && failure.By != nil {
				applied = append(applied, *failure.By)
			}
			return nil, applied, err
		}
		applied = append(applied, result.Applied...)
		if result.Patch != nil {
			object = scanned.Bytes()
		}
	}
	return object, applied, nil
}

func (o *object) version() string {
	if group := o.Group(); group != "" {
		return o.APIVersion[len(group)+1:]
	}
	return o.APIVersion
}

// change admits the object again and records the author of each line. It is slower, and only for output.
func (o *object) change(ctx context.Context) (*render.Change, error) {
	if o.told != nil {
		return o.told, nil
	}
	change, err := render.NewChange(o.JSON)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o, err)
	}
	a := render.Admission{
		Namespace: o.scene.Namespace().Name, Labels: o.scene.Namespace().Labels, Operation: "CREATE", Old: o.old,
	}
	if o.old != nil {
		a.Operation = "UPDATE"
	}
	var failure *mutation.Failure
	if err := change.Admit(ctx, o.program, a, o.scene.Source()); err != nil && !errors.As(err, &failure) {
		return nil, fmt.Errorf("%s: %w", o, err)
	}
	change.Reveal() // the Secrets are those that the test makes up
	o.told = change
	return change, nil
}

// subject is the result as the target that an expectation means.
type subject struct {
	*target.Object

	configured map[string]any
}

func (o *object) subject(s *selector) (*subject, error) {
	parsed, err := document.Parse(o.result)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", o, err)
	}
	on, form := s.targetOf(o.Object)
	return &subject{Object: &target.Object{Target: on, Form: form, Document: parsed}}, nil
}

// kubeletConfiguration returns the kubelet's configuration, decoded once.
func (s *subject) kubeletConfiguration() (map[string]any, error) {
	if s.configured != nil {
		return s.configured, nil
	}
	text, err := s.KubeletConfiguration()
	if err != nil {
		return nil, err
	}
	whole, _ := text.Get()
	s.configured, _ = canonical(whole).(map[string]any)
	return s.configured, nil
}
