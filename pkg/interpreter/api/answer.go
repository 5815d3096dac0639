// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// answer is a checked response, with the fields that both dialects share. Fields of other operations stay
// empty.
type answer struct {
	operation    interpreter.Operation
	patch        []byte
	replicas     *int32
	requirements *interpreter.Requirements
	components   []interpreter.Component
	dependencies []interpreter.Dependency
	healthy      *bool
	status       []byte
}

// answerOf copies the fields of operation o from a response and checks that callers will accept them: they
// reject an invalid answer as a whole, with little explanation. An error is the fault of the rules. Parsed
// values live in the memory of question.
func answerOf(o interpreter.Operation, r interpreter.Response, question *document.Node) (answer, error) {
	a := answer{operation: o}
	var err error
	switch o {
	case interpreter.Replicas:
		a.replicas, a.requirements = r.Replicas, r.Requirements
		if a.replicas == nil || *a.replicas < 0 {
			return a, lacking("a number of replicas")
		}
		err = checkRequirements(a.requirements)
	case interpreter.Components:
		a.components = r.Components
		err = checkAll(r.Components, checkComponent)
	case interpreter.Dependencies:
		a.dependencies = r.Dependencies
		err = checkAll(r.Dependencies, checkDependency)
	case interpreter.Health:
		if a.healthy = r.Healthy; a.healthy == nil {
			err = lacking("a health")
		}
	case interpreter.Status:
		a.status, err = statusIn(r.Status, question)
	case interpreter.Revise, interpreter.Retain, interpreter.Aggregate, interpreter.Prune:
		a.patch, err = patchIn(r.Patch, question)
	default:
		err = lacking("an answer to such a question")
	}
	return a, err
}

// lacking returns the failure of rules that do not return a required value.
func lacking(what string, values ...any) error {
	return &interpreter.Failure{Code: interpreter.CodeBroken, Message: "the rules do not give " + fmt.Sprintf(what, values...)}
}

func checkAll[T any](items []T, check func(T) error) error {
	for _, item := range items {
		if err := check(item); err != nil {
			return err
		}
	}
	return nil
}

func checkComponent(c interpreter.Component) error {
	switch {
	case !c.Named():
		return lacking("a component a name of at most %d characters", interpreter.MaximumComponentName)
	case c.Replicas < 0:
		return lacking("a component a number of replicas")
	}
	return checkRequirements(c.Requirements)
}

func checkDependency(d interpreter.Dependency) error {
	switch {
	case d.APIVersion == "" || d.Kind == "":
		return lacking("a dependency an apiVersion and a kind")
	case d.Name == "" && isNothing(d.LabelSelector):
		return lacking("a dependency a name or a labelSelector")
	case !fits[metav1.LabelSelector](d.LabelSelector):
		return lacking("a dependency a labelSelector that can be read")
	}
	return nil
}

// nodeClaim has the fields of a NodeClaim in Karmada's work API.
type nodeClaim struct {
	HardNodeAffinity *corev1.NodeSelector `json:"hardNodeAffinity"`
	NodeSelector     map[string]string    `json:"nodeSelector"`
	Tolerations      []corev1.Toleration  `json:"tolerations"`
}

func checkRequirements(r *interpreter.Requirements) error {
	switch {
	case r == nil:
	case !fits[nodeClaim](r.NodeClaim):
		return lacking("a nodeClaim that can be read")
	case !fits[corev1.ResourceList](r.ResourceRequest):
		return lacking("a resourceRequest that can be read")
	}
	return nil
}

// isNothing reports whether raw is empty or null.
func isNothing(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// fits reports whether raw can be decoded as T, a type of the callers.
func fits[T any](raw json.RawMessage) bool {
	return len(raw) == 0 || json.Unmarshal(raw, new(T)) == nil
}

// parseWithin parses JSON in the memory of question. A text above smallBody gets its own memory, so that
// question does not retain it.
func parseWithin(question *document.Node, raw []byte) (*document.Document, error) {
	if len(raw) > smallBody {
		return document.Parse(raw)
	}
	return question.Parse(raw)
}

// statusIn returns a status, or {} if there is none, because callers require an object.
func statusIn(raw json.RawMessage, question *document.Node) ([]byte, error) {
	if isNothing(raw) {
		return []byte(`{}`), nil
	}
	d, err := parseWithin(question, raw)
	if err != nil || d.Root().Kind() != document.Object {
		return nil, lacking("a status that is an object")
	}
	d.Release()
	return raw, nil
}

// patchIn returns a patch, or nil if it has no operations.
func patchIn(raw json.RawMessage, question *document.Node) ([]byte, error) {
	if isNothing(raw) {
		return nil, nil
	}
	d, err := parseWithin(question, raw)
	if err != nil || d.Root().Kind() != document.Array {
		return nil, lacking("a JSON patch")
	}
	defer d.Release()
	for _, o := range d.Root().Items() {
		if o.Get("op").Kind() != document.String || o.Get("path").Kind() != document.String {
			return nil, lacking("a JSON patch of operations with op and path")
		}
	}
	if d.Root().Len() == 0 {
		return nil, nil
	}
	return raw, nil
}
