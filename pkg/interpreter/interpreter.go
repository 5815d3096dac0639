// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package interpreter contains the types that the Karmada packages share: an operation on an object, its
// request, its response, and the failures that callers see. Karmada needs the answers to distribute an object
// over member clusters.
//
// The package knows neither a wire format nor profiles. Start reading at Operation, Request and Response.
package interpreter

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// Operation is a question about an object. Its name is the field of an InterpreterProfile that answers it.
type Operation string

// The operations, each with its names in the two dialects: Karmada's, and that of the earlier proposal.
const (
	// Replicas asks for the number of replicas and the requirements of each (InterpretReplica, ExploreReplica).
	Replicas Operation = "replicas"
	// Components asks for replicas and requirements of each part of a multi-part workload (InterpretComponent).
	Components Operation = "components"
	// Revise asks for the object with another number of replicas (ReviseReplica, ExploreReplicaRevising).
	Revise Operation = "revise"
	// Retain asks for the desired object with the fields that the member cluster owns (Retain,
	// ExploreRetaining).
	Retain Operation = "retain"
	// Aggregate asks for the object with a status that combines those of the members (AggregateStatus,
	// ExploreStatusAggregating).
	Aggregate Operation = "aggregate"
	// Status asks for the part of the status to reflect (InterpretStatus, ExploreStatus).
	Status Operation = "status"
	// Health asks if the object is healthy (InterpretHealth, ExploreHealthy).
	Health Operation = "health"
	// Dependencies asks for the objects that must be propagated too (InterpretDependency, ExploreDependencies).
	Dependencies Operation = "dependencies"
	// Prune asks for the object as it is packed for members (Prune, ExplorePacking).
	Prune Operation = "prune"
)

// Operations returns all operations, in the order in which Karmada uses them.
func Operations() []Operation {
	return []Operation{Replicas, Components, Revise, Dependencies, Prune, Retain, Status, Health, Aggregate}
}

// Known reports whether o is one of Operations.
func (o Operation) Known() bool { return slices.Contains(Operations(), o) }

// Patches reports whether the response to o is a patch of the object.
func (o Operation) Patches() bool { return o == Revise || o == Retain || o == Aggregate || o == Prune }

// Kind identifies a kind of object.
type Kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// KindOf returns the kind for an apiVersion, which is v1 or group/version.
func KindOf(apiVersion, kind string) Kind {
	return Kind(schema.FromAPIVersionAndKind(apiVersion, kind))
}

// String returns <kind>.<version>.<group>, as kubectl writes it.
func (k Kind) String() string { return strings.TrimSuffix(k.Kind+"."+k.Version+"."+k.Group, ".") }

// Known is a kind with the operations that have rules, in the order of Operations. Version is * if the rules
// apply to all versions.
type Known struct {
	Kind
	Operations []Operation `json:"operations"`
}

// Answers reports whether kinds have an operation for a kind. An entry for all versions is for those without their own.
func Answers(kinds []Known, kind Kind, o Operation) bool {
	for _, version := range []string{kind.Version, "*"} {
		kind.Version = version
		if i := slices.IndexFunc(kinds, func(k Known) bool { return k.Kind == kind }); i >= 0 {
			return slices.Contains(kinds[i].Operations, o)
		}
	}
	return false
}

// Filter returns the kinds with the operations to keep. It drops kinds that have none.
func Filter(kinds []Known, keep func(Kind, Operation) bool) []Known {
	var rest []Known
	for _, k := range kinds {
		k.Operations = slices.DeleteFunc(slices.Clone(k.Operations), func(o Operation) bool { return !keep(k.Kind, o) })
		if len(k.Operations) > 0 {
			rest = append(rest, k)
		}
	}
	return rest
}

// Without returns the kinds without the operations with the given names.
func Without(kinds []Known, names []string) []Known {
	return Filter(kinds, func(_ Kind, o Operation) bool { return !slices.Contains(names, string(o)) })
}

// WithoutExcluded removes Components from kinds that have Revise in any version. With the feature gate
// MultiplePodTemplatesScheduling, Karmada stores components instead of replicas, and would then revise the
// object in each cluster to 0 replicas.
func WithoutExcluded(kinds []Known) []Known {
	return Filter(kinds, func(kind Kind, o Operation) bool {
		return o != Components || !slices.ContainsFunc(kinds, func(k Known) bool {
			return k.Group == kind.Group && k.Kind.Kind == kind.Kind && slices.Contains(k.Operations, Revise)
		})
	})
}

// Request is one question. Fields that the operation does not use are empty.
type Request struct {
	Operation Operation
	Kind      Kind
	// Object is the control plane's object in JSON. Observed is the member cluster's, for Retain.
	Object, Observed json.RawMessage
	// Replicas is the desired number, for Revise.
	Replicas int32
	// Members holds the status of each member cluster, for Aggregate.
	Members []Member
	// ObjectNode and ObservedNode are Object and Observed within a message that was parsed as a whole, which saves parsing
	// them again. Nil means that the texts are parsed on use. A node is for one goroutine and is invalid after the message.
	ObjectNode, ObservedNode *document.Node
}

// Member is the state of an object's copy in one member cluster.
type Member struct {
	Cluster string
	// Status is JSON, or empty if the member has none yet.
	Status  json.RawMessage
	Applied bool
	// Message is the reason why the object could not be applied. Health is Healthy, Unhealthy or Unknown. Both
	// are empty if the dialect has no such field.
	Message, Health string
	// StatusNode is Status within a message, like Request.ObjectNode.
	StatusNode *document.Node
}

// Response is an answer. Fields that the operation does not use are nil.
type Response struct {
	Replicas     *int32        `json:"replicas,omitempty"`
	Requirements *Requirements `json:"requirements,omitempty"`
	Components   []Component   `json:"components,omitempty"`
	Dependencies []Dependency  `json:"dependencies,omitempty"`
	// Status is JSON.
	Status  json.RawMessage `json:"status,omitempty"`
	Healthy *bool           `json:"healthy,omitempty"`
	// Patch changes the object of the request (RFC 6902). Nil means no change.
	Patch json.RawMessage `json:"patch,omitempty"`
	// Because names the rules that answered, for people.
	Because []string `json:"because,omitempty"`
}

// Requirements are the needs of each replica. NodeClaim and ResourceRequest are JSON in the form of Karmada's
// work API.
type Requirements struct {
	NodeClaim         json.RawMessage `json:"nodeClaim,omitempty"`
	ResourceRequest   json.RawMessage `json:"resourceRequest,omitempty"`
	Namespace         string          `json:"namespace,omitempty"`
	PriorityClassName string          `json:"priorityClassName,omitempty"`
}

// MaximumComponentName limits the name of a component, in characters (work.karmada.io/v1alpha2, Component).
const MaximumComponentName = 32

// Component is a part of a workload.
type Component struct {
	// Name has 1 to MaximumComponentName characters.
	Name         string        `json:"name"`
	Replicas     int32         `json:"replicas"`
	Requirements *Requirements `json:"replicaRequirements,omitempty"`
}

// Named reports whether the component has a name that Karmada accepts.
func (c Component) Named() bool {
	length := utf8.RuneCountInString(c.Name)
	return length > 0 && length <= MaximumComponentName
}

// Dependency identifies an object that must be propagated too, by name or by labels.
type Dependency struct {
	APIVersion    string          `json:"apiVersion"`
	Kind          string          `json:"kind"`
	Namespace     string          `json:"namespace,omitempty"`
	Name          string          `json:"name,omitempty"`
	LabelSelector json.RawMessage `json:"labelSelector,omitempty"`
}

// The codes of a Failure, with the meaning they have in HTTP.
const (
	// CodeUnknown: no profile has rules for the kind and the operation.
	CodeUnknown = 404
	// CodeUnfit: the rules cannot process the object or the members' statuses, or the object cannot be divided
	// this way.
	CodeUnfit = 422
	// CodeBroken: a rule was stopped before its evaluation ended, or returned a value that no client accepts.
	CodeBroken = 500
)

// Failure explains to people why a question has no answer. Its message contains paths of the object, never its
// values.
type Failure struct {
	Code    int
	Message string
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }
