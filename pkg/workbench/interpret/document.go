// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpret

import (
	"encoding/json"

	profilev1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// Document is the output in the formats json and yaml; docs/reference/output.md describes it. Fields may be added, but
// their meaning does not change within a version.
type Document struct {
	// APIVersion is that of profiles; Kind is Interpretation.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Objects lists all objects in the order of the input.
	Objects []ObjectAnswers `json:"objects"`
}

// ObjectAnswers holds the answers about an object.
type ObjectAnswers struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Namespace  string           `json:"namespace,omitempty"`
	Name       string           `json:"name"`
	Answers    []DocumentAnswer `json:"answers"`
}

// DocumentAnswer is the answer to one question: the fields of its operation, or why there is none.
type DocumentAnswer struct {
	Operation    interpreter.Operation     `json:"operation"`
	Replicas     *int32                    `json:"replicas,omitempty"`
	Requirements *interpreter.Requirements `json:"requirements,omitempty"`
	Components   []interpreter.Component   `json:"components,omitempty"`
	Dependencies []interpreter.Dependency  `json:"dependencies,omitempty"`
	Status       json.RawMessage           `json:"status,omitempty"`
	Healthy      *bool                     `json:"healthy,omitempty"`
	// Changed says of an operation that is answered by a patch whether there is one, which is Patch, as of RFC 6902.
	Changed *bool           `json:"changed,omitempty"`
	Patch   json.RawMessage `json:"patch,omitempty"`
	// Because are the rules that have answered, or the webhooks.
	Because []string `json:"because,omitempty"`
	// Lacks says which input was not given, so that nothing was asked.
	Lacks string `json:"lacks,omitempty"`
	// Error says why there is no answer.
	Error *DocumentError `json:"error,omitempty"`
}

// DocumentError is why there is no answer.
type DocumentError struct {
	// Code is an HTTP status code, or absent.
	Code    int    `json:"code,omitempty"`
	Message string `json:"message"`
}

// DocumentOf returns the answers as a document.
func DocumentOf(results []Result) Document {
	d := Document{APIVersion: profilev1alpha1.GroupVersion.String(), Kind: "Interpretation", Objects: []ObjectAnswers{}}
	for _, r := range results {
		o := ObjectAnswers{
			APIVersion: r.Object.APIVersion, Kind: r.Object.Kind, Namespace: r.Object.Namespace, Name: r.Object.Name, Answers: []DocumentAnswer{},
		}
		for _, a := range r.Answers {
			o.Answers = append(o.Answers, a.document())
		}
		d.Objects = append(d.Objects, o)
	}
	return d
}

func (a Answer) document() DocumentAnswer {
	r := a.Response
	if a.Err != nil {
		return DocumentAnswer{Operation: a.Operation, Error: &DocumentError{Code: a.Code(), Message: a.Err.Error()}}
	}
	d := DocumentAnswer{
		Operation: a.Operation, Replicas: r.Replicas, Requirements: r.Requirements, Components: r.Components, Dependencies: r.Dependencies,
		Status: r.Status, Healthy: r.Healthy, Patch: r.Patch, Because: r.Because, Lacks: a.Lacks,
	}
	if a.Operation.Patches() && a.Lacks == "" {
		changed := len(r.Patch) > 0
		d.Changed = &changed
	}
	return d
}
