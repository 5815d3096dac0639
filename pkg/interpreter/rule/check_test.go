// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule_test

import (
	"encoding/json"
	"errors"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// maximumComponent is Karmada's maximum length of the name of a component.
const maximumComponent = 32

// checkResponse checks that an answer has the fields that Karmada's client needs, or that there is a Failure.
func checkResponse(t *testing.T, r interpreter.Request, got interpreter.Response, err error) {
	t.Helper()
	var failure *interpreter.Failure
	if err != nil {
		if !errors.As(err, &failure) || failure.Message == "" || failure.Code < 400 {
			t.Errorf("the error is %#v", err)
		}
		return
	}
	missing := map[interpreter.Operation]bool{
		interpreter.Replicas: got.Replicas == nil, interpreter.Components: got.Components == nil, interpreter.Status: got.Status == nil,
		interpreter.Health: got.Healthy == nil, interpreter.Dependencies: got.Dependencies == nil,
	}
	if missing[r.Operation] {
		t.Errorf("%s: the answer is empty", r.Operation)
	}
	for _, c := range got.Components {
		if c.Name == "" || len([]rune(c.Name)) > maximumComponent || c.Replicas < 0 {
			t.Errorf("the component is %+v", c)
		}
	}
	for _, d := range got.Dependencies {
		if d.APIVersion == "" || d.Kind == "" || (d.Name == "") == (len(d.LabelSelector) == 0) {
			t.Errorf("the dependency is %+v", d)
		}
	}
	if got.Status != nil && !json.Valid(got.Status) {
		t.Errorf("the status is no JSON")
	}
	if got.Patch != nil {
		checkPatch(t, r.Object, got.Patch)
	}
}

// checkPatch checks that a patch can be applied, changes something, and keeps all other fields.
func checkPatch(t *testing.T, object, raw json.RawMessage) {
	t.Helper()
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil || len(patch) == 0 {
		t.Fatalf("the patch cannot be read: %v", err)
	}
	if _, err := patch.Apply(object); err != nil {
		t.Errorf("the patch cannot be applied: %v", err)
	}
}
