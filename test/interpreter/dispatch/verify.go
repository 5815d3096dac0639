// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
)

// VerifyContext applies all checks of Karmada's client. It returns an *interpreter.Failure for an answer that
// is not successful.
func VerifyContext(uid, operation string, r *ContextResponse) error {
	switch {
	case r == nil:
		return errors.New("there is no response")
	case string(r.UID) != uid:
		return fmt.Errorf("the uid of the response is %q, which differs from the request", r.UID)
	case !r.Successful && r.Status == nil:
		return errors.New("a response that is not successful must have a status")
	case !r.Successful:
		return &interpreter.Failure{Code: int(r.Status.Code), Message: r.Status.Message}
	}
	asked := api.Operations(api.KindContext)[operation]
	if asked.Patches() {
		return verifyPatch(r.Patch, r.PatchType)
	}
	switch asked {
	case interpreter.Replicas:
		return needed(r.Replicas != nil, "replicas")
	case interpreter.Components:
		return verifyComponents(r.Components)
	case interpreter.Dependencies:
		for _, d := range r.Dependencies {
			if d.APIVersion == "" || d.Kind == "" || d.Name == "" && d.LabelSelector == nil {
				return fmt.Errorf("a dependency must have apiVersion, kind, and name or labelSelector: %+v", d)
			}
		}
		return nil
	case interpreter.Status:
		return needed(r.RawStatus != nil, "rawStatus")
	case interpreter.Health:
		return needed(r.Healthy != nil, "healthy")
	}
	return fmt.Errorf("there is no operation %q", operation)
}

// VerifyReview checks what the proposal requires of a response: fields with "Required if OperationType is …",
// and status and healthy for the operations that ask for them.
func VerifyReview(uid, operation string, r *ReviewResponse) error {
	switch {
	case r == nil:
		return errors.New("there is no response")
	case string(r.UID) != uid:
		return fmt.Errorf("the uid of the response is %q, which differs from the request", r.UID)
	}
	for _, d := range r.Dependencies {
		if d.APIVersion == "" || d.Kind == "" || d.Name == "" {
			return fmt.Errorf("a dependency must have apiVersion, kind and name: %+v", d)
		}
	}
	if err := verifyPatch(r.Patch, r.PatchType); err != nil {
		return err
	}
	asked := api.Operations(api.KindReview)[operation]
	if asked.Patches() {
		return nil
	}
	switch asked {
	case interpreter.Replicas:
		return errors.Join(needed(r.Replicas != nil, "replicas"), needed(r.ReplicaRequirements != nil, "replicaRequirements"))
	case interpreter.Dependencies:
		return needed(r.Dependencies != nil, "dependencies")
	case interpreter.Status:
		return needed(r.Status != nil, "status")
	case interpreter.Health:
		return needed(r.Healthy != nil, "healthy")
	}
	return fmt.Errorf("there is no operation %q", operation)
}

func needed(there bool, field string) error {
	if there {
		return nil
	}
	return fmt.Errorf("the response must have %s", field)
}

func verifyComponents(all []Component) error {
	for _, c := range all {
		if !(interpreter.Component{Name: c.Name}).Named() || c.Replicas < 0 {
			return fmt.Errorf("a component must have a name of at most %d characters, and no negative number of replicas: %q "+
				"has %d",
				interpreter.MaximumComponentName, c.Name, c.Replicas)
		}
	}
	return nil
}

// verifyPatch checks that there is a patch with its type, or neither.
func verifyPatch(patch []byte, kind *string) error {
	switch {
	case len(patch) == 0 && kind == nil:
		return nil
	case kind == nil || len(patch) == 0:
		return errors.New("patch and patchType go together")
	case *kind != patchType:
		return fmt.Errorf("the patchType %q is not known; there is %s", *kind, patchType)
	}
	var operations []map[string]any
	if err := json.Unmarshal(patch, &operations); err != nil {
		return errors.New("the patch is no list of operations")
	}
	return nil
}

// patchType is that of RFC 6902, the only one.
const patchType = "JSONPatch"
