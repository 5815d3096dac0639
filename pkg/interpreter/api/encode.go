// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// message is a message with a response.
type message struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Response   any    `json:"response"`
}

// result has the fields of responses that both dialects share.
type result struct {
	Replicas     *int32                    `json:"replicas,omitempty"`
	Requirements *interpreter.Requirements `json:"replicaRequirements,omitempty"`
	Components   []interpreter.Component   `json:"components,omitzero"`
	Dependencies []interpreter.Dependency  `json:"dependencies,omitzero"`
	Healthy      *bool                     `json:"healthy,omitempty"`
	Patch        []byte                    `json:"patch,omitempty"`
	PatchType    string                    `json:"patchType,omitempty"`
}

// ContextResponse is the response in a ResourceInterpreterContext.
type ContextResponse struct {
	UID        string          `json:"uid"`
	Successful bool            `json:"successful"`
	Failure    *ContextStatus  `json:"status,omitempty"`
	Status     json.RawMessage `json:"rawStatus,omitempty"`
	result
}

// ContextStatus is the reason of a response that is not successful.
type ContextStatus struct {
	Message string `json:"message"`
	Code    int    `json:"code"`
}

type reviewResponse struct {
	UID    string          `json:"uid"`
	Status json.RawMessage `json:"status,omitempty"`
	result
}

// resultOf returns the fields of operation o. Lists and statuses that are missing are empty, because callers
// require them, and a patch without operations is left out.
func resultOf(o interpreter.Operation, r interpreter.Response) (result, json.RawMessage) {
	switch o {
	case interpreter.Replicas:
		return result{Replicas: r.Replicas, Requirements: r.Requirements}, nil
	case interpreter.Components:
		return result{Components: append([]interpreter.Component{}, r.Components...)}, nil
	case interpreter.Dependencies:
		return result{Dependencies: append([]interpreter.Dependency{}, r.Dependencies...)}, nil
	case interpreter.Health:
		return result{Healthy: r.Healthy}, nil
	case interpreter.Status:
		if isNothing(r.Status) {
			return result{}, json.RawMessage("{}")
		}
		return result{}, r.Status
	}
	if isNothing(r.Patch) || string(r.Patch) == "[]" {
		return result{}, nil
	}
	return result{Patch: r.Patch, PatchType: "JSONPatch"}, nil
}

// isNothing reports whether raw is empty or null.
func isNothing(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

func contextSuccess(uid string, o interpreter.Operation, r interpreter.Response) (any, error) {
	answer := ContextResponse{UID: uid, Successful: true}
	answer.result, answer.Status = resultOf(o, r)
	return answer, nil
}

// contextFailure returns status 200, because Karmada reads the message of the answer only then.
func contextFailure(uid string, f *interpreter.Failure) (int, any) {
	response := ContextResponse{UID: uid, Failure: &ContextStatus{Message: f.Message, Code: f.Code}}
	return http.StatusOK, message{Group + "/" + Version, KindContext, response}
}

// reviewSuccess returns the response of an ExploreReview. The dialect has only nodeClaim and resourceRequest for
// requirements, and requires them for replicas. It fails if a dependency is selected by labels, which the
// dialect cannot express.
func reviewSuccess(uid string, o interpreter.Operation, r interpreter.Response) (any, error) {
	answer := reviewResponse{UID: uid}
	answer.result, answer.Status = resultOf(o, r)
	if o == interpreter.Replicas {
		answer.Requirements = &interpreter.Requirements{}
		if needed := r.Requirements; needed != nil {
			answer.Requirements.NodeClaim, answer.Requirements.ResourceRequest = needed.NodeClaim, needed.ResourceRequest
		}
	}
	for i, d := range answer.Dependencies {
		if d.Name == "" {
			return nil, unfit("a dependency on %.80s is known by its labels only, and an %s can name objects only", d.Kind, KindReview)
		}
		answer.Dependencies[i].LabelSelector = nil
	}
	return answer, nil
}

// reasons maps HTTP statuses to the reasons that Kubernetes clients know.
var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest:            metav1.StatusReasonBadRequest,
	http.StatusNotFound:              metav1.StatusReasonNotFound,
	http.StatusMethodNotAllowed:      metav1.StatusReasonMethodNotAllowed,
	http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusUnsupportedMediaType:  metav1.StatusReasonUnsupportedMediaType,
	http.StatusUnprocessableEntity:   metav1.StatusReasonInvalid,
	http.StatusInternalServerError:   metav1.StatusReasonInternalError,
	http.StatusGatewayTimeout:        metav1.StatusReasonTimeout,
}

// statusOf returns a failure as a metav1.Status. Kubernetes clients read its message, but drop plain text for
// most HTTP statuses.
func statusOf(uid string, f *interpreter.Failure) (int, any) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Message: f.Message, Reason: reasons[f.Code], Code: int32(f.Code),
	}
	if uid != "" {
		status.Details = &metav1.StatusDetails{UID: types.UID(uid)}
	}
	return f.Code, status
}

// encode returns a message as JSON.
func encode(body any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return nil, fmt.Errorf("encoding an answer: %w", err)
	}
	return buffer.Bytes(), nil
}
