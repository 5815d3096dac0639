// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
)

// identity is the name and namespace of an object.
type identity struct{ name, namespace string }

// objectOf reads name and namespace of an object. Its error is an *interpreter.Failure.
func objectOf(raw []byte) (identity, error) {
	read, err := document.Parse(raw)
	if err != nil || read.Root().Kind() != document.Object {
		return identity{}, &interpreter.Failure{Code: interpreter.CodeUnfit, Message: "the object must be a JSON object"}
	}
	defer read.Release()
	var of identity
	of.name, _ = read.Root().Find("metadata", "name").Text()
	of.namespace, _ = read.Root().Find("metadata", "namespace").Text()
	return of, nil
}

// exchange is a request with its response.
type exchange struct {
	context *ContextMessage
	review  *ReviewMessage
	asked   *MessageRequest
}

func newExchange(dialect, uid string, r *interpreter.Request, of identity) *exchange {
	e := &exchange{asked: &MessageRequest{
		UID: types.UID(uid), Kind: metav1.GroupVersionKind{Group: r.Kind.Group, Version: r.Kind.Version, Kind: r.Kind.Kind},
		Name: of.name, Namespace: of.namespace, Operation: operationName(dialect, r.Operation),
		Object: runtime.RawExtension{Raw: r.Object},
	}}
	if r.Operation == interpreter.Revise || dialect == api.KindContext {
		e.asked.DesiredReplicas = &r.Replicas // Karmada sends 0 with every other operation
	}
	if r.Operation == interpreter.Retain {
		e.asked.ObservedObject = rawOf(r.Observed)
	}
	for _, m := range r.Members {
		item := StatusItem{ClusterName: m.Cluster, Status: rawOf(m.Status), Applied: m.Applied, AppliedMessage: m.Message}
		if dialect == api.KindContext {
			item.Health = m.Health
		}
		e.asked.AggregatedStatus = append(e.asked.AggregatedStatus, item)
	}
	head := metav1.TypeMeta{APIVersion: api.Group + "/" + api.Version, Kind: dialect}
	if dialect == api.KindReview {
		e.review = &ReviewMessage{TypeMeta: head, Request: e.asked}
	} else {
		e.context = &ContextMessage{TypeMeta: head, Request: e.asked}
	}
	return e
}

// question returns the message to send.
func (e *exchange) question() runtime.Object {
	if e.review != nil {
		return e.review
	}
	return e.context
}

// answer returns an empty message that receives the answer.
func (e *exchange) answer() runtime.Object {
	if e.review != nil {
		e.review = &ReviewMessage{}
		return e.review
	}
	e.context = &ContextMessage{}
	return e.context
}

// response returns the verified response of the received message.
func (e *exchange) response() (interpreter.Response, error) {
	if e.review != nil {
		r := e.review.Response
		if err := VerifyReview(string(e.asked.UID), e.asked.Operation, r); err != nil {
			return interpreter.Response{}, err
		}
		return fromReview(r), nil
	}
	r := e.context.Response
	if err := VerifyContext(string(e.asked.UID), e.asked.Operation, r); err != nil {
		return interpreter.Response{}, err
	}
	return fromContext(r), nil
}

func fromContext(r *ContextResponse) interpreter.Response {
	out := interpreter.Response{Patch: r.Patch, Replicas: r.Replicas, Requirements: requirementsOf(r.ReplicaRequirements),
		Healthy: r.Healthy}
	for _, c := range r.Components {
		out.Components = append(out.Components,
			interpreter.Component{Name: c.Name, Replicas: c.Replicas, Requirements: requirementsOf(c.ReplicaRequirements)})
	}
	for _, d := range r.Dependencies {
		one := interpreter.Dependency{APIVersion: d.APIVersion, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name}
		if d.LabelSelector != nil {
			one.LabelSelector = encoded(d.LabelSelector)
		}
		out.Dependencies = append(out.Dependencies, one)
	}
	if r.RawStatus != nil {
		out.Status = r.RawStatus.Raw
	}
	return out
}

func fromReview(r *ReviewResponse) interpreter.Response {
	out := interpreter.Response{Patch: r.Patch, Replicas: r.Replicas, Healthy: r.Healthy}
	if n := r.ReplicaRequirements; n != nil && (n.NodeClaim != nil || n.ResourceRequest != nil) {
		out.Requirements = requirementsOf(&Requirements{NodeClaim: n.NodeClaim, ResourceRequest: n.ResourceRequest})
	}
	for _, d := range r.Dependencies {
		out.Dependencies = append(out.Dependencies,
			interpreter.Dependency{APIVersion: d.APIVersion, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name})
	}
	if r.Status != nil {
		out.Status = r.Status.Raw
	}
	return out
}

func requirementsOf(r *Requirements) *interpreter.Requirements {
	if r == nil {
		return nil
	}
	out := &interpreter.Requirements{Namespace: r.Namespace, PriorityClassName: r.PriorityClassName}
	if r.NodeClaim != nil {
		out.NodeClaim = encoded(r.NodeClaim)
	}
	if r.ResourceRequest != nil {
		out.ResourceRequest = encoded(r.ResourceRequest)
	}
	return out
}

// rawOf returns raw as an extension, or nil if it is empty.
func rawOf(raw []byte) *runtime.RawExtension {
	if len(raw) == 0 {
		return nil
	}
	return &runtime.RawExtension{Raw: raw}
}

// encoded returns a value as JSON. The value was decoded from JSON, so that encoding cannot fail.
func encoded(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return raw
}
