// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package interpreter is the Karmada wing: what Karmada must know of a kind of object to spread it over clusters. This package holds the nouns that all
// of the wing shares, and the error at its border.
//
// It knows no wire and no profile. Enter at Operation, Request and Response.
package interpreter

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// Operation is what is asked of an object. Its name is the field of an InterpreterProfile that answers it.
type Operation string

// The operations, each with the names that the dialects have for it: that of Karmada, and that of the proposal before it.
const (
	// Replicas: how many there are, and what each needs (InterpretReplica, ExploreReplica).
	Replicas Operation = "replicas"
	// Components: the same of each part of a workload that has several (InterpretComponent).
	Components Operation = "components"
	// Revise: the object with another number of replicas (ReviseReplica, ExploreReplicaRevising).
	Revise Operation = "revise"
	// Retain: the object that is to be applied, with what the member cluster decides about (Retain, ExploreRetaining).
	Retain Operation = "retain"
	// Aggregate: the object with a status made of those of the members (AggregateStatus, ExploreStatusAggregating).
	Aggregate Operation = "aggregate"
	// Status: what of the status is reflected (InterpretStatus, ExploreStatus).
	Status Operation = "status"
	// Health: whether the object is healthy (InterpretHealth, ExploreHealthy).
	Health Operation = "health"
	// Dependencies: what must come with the object (InterpretDependency, ExploreDependencies).
	Dependencies Operation = "dependencies"
	// Prune: the object as it is packed for members (Prune, ExplorePacking).
	Prune Operation = "prune"
)

// Operations are all of them, in the order in which Karmada comes to them.
func Operations() []Operation {
	return []Operation{Replicas, Components, Revise, Dependencies, Prune, Retain, Status, Health, Aggregate}
}

// Known says whether there is an operation of a name.
func (o Operation) Known() bool { return slices.Contains(Operations(), o) }

// Patches says whether the answer is a patch of the object.
func (o Operation) Patches() bool { return o == Revise || o == Retain || o == Aggregate || o == Prune }

// Kind is a kind of objects.
type Kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// KindOf is a kind as objects name theirs: with v1 or group/version.
func KindOf(apiVersion, kind string) Kind {
	group, version, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group, version = "", apiVersion
	}
	return Kind{Group: group, Version: version, Kind: kind}
}

// String is <kind>.<version>.<group>, as kubectl writes it.
func (k Kind) String() string {
	if k.Group == "" {
		return k.Kind + "." + k.Version
	}
	return k.Kind + "." + k.Version + "." + k.Group
}

// Known is a kind, and the operations for which something has answers, in the order of Operations. Version is * where they are for all versions.
type Known struct {
	Kind
	Operations []Operation `json:"operations"`
}

// Without leaves operations out, and kinds for which there are no others.
func Without(kinds []Known, left ...Operation) []Known {
	var rest []Known
	for _, k := range kinds {
		k.Operations = slices.DeleteFunc(slices.Clone(k.Operations), func(o Operation) bool { return slices.Contains(left, o) })
		if len(k.Operations) > 0 {
			rest = append(rest, k)
		}
	}
	return rest
}

// WithoutExcluded leaves the components out of kinds that are revised in any version. With the gate MultiplePodTemplatesScheduling, Karmada stores the
// components of an object and no replicas, and then revises the object in each cluster to 0 replicas.
func WithoutExcluded(kinds []Known) []Known {
	type groupKind struct{ group, kind string }
	revised := map[groupKind]bool{}
	for _, k := range kinds {
		if slices.Contains(k.Operations, Revise) {
			revised[groupKind{k.Group, k.Kind.Kind}] = true
		}
	}
	var rest []Known
	for _, k := range kinds {
		one := []Known{k}
		if revised[groupKind{k.Group, k.Kind.Kind}] {
			one = Without(one, Components)
		}
		rest = append(rest, one...)
	}
	return rest
}

// Request is one question. What the operation does not have is empty.
type Request struct {
	Operation Operation
	Kind      Kind
	// Object and Observed are JSON: the object of the control plane, and for Retain that of the member cluster.
	Object, Observed json.RawMessage
	// Replicas is the number that is wanted, for Revise.
	Replicas int32
	// Members are what the members say, for Aggregate.
	Members []Member
	// ObjectIndex and ObservedIndex are those of the texts.
	ObjectIndex, ObservedIndex Index
}

// Member is what one member cluster says of its copy of an object.
type Member struct {
	Cluster string
	// Status is JSON; empty: there is none yet.
	Status  json.RawMessage
	Applied bool
	// Message says why it could not be applied, and Health is Healthy, Unhealthy or Unknown; empty where the dialect does not have it.
	Message, Health string
	// StatusIndex is that of Status.
	StatusIndex Index
}

// Response is an answer. What the operation does not have is nil.
type Response struct {
	// Patch changes the object of the request (RFC 6902); nil: nothing is to be changed.
	Patch        json.RawMessage
	Replicas     *int32
	Requirements *Requirements
	Components   []Component
	Dependencies []Dependency
	// Status is JSON.
	Status  json.RawMessage
	Healthy *bool
	// Because says, for people, which rules have answered.
	Because []string
}

// Requirements are what each replica needs. NodeClaim and ResourceRequest are JSON in the form of Karmada's work API.
type Requirements struct {
	NodeClaim         json.RawMessage `json:"nodeClaim,omitempty"`
	ResourceRequest   json.RawMessage `json:"resourceRequest,omitempty"`
	Namespace         string          `json:"namespace,omitempty"`
	PriorityClassName string          `json:"priorityClassName,omitempty"`
}

// MaximumComponentName is how many characters the name of a component may have (work.karmada.io/v1alpha2, Component).
const MaximumComponentName = 32

// Component is a part of a workload.
type Component struct {
	// Name has 1 to MaximumComponentName characters.
	Name         string        `json:"name"`
	Replicas     int32         `json:"replicas"`
	Requirements *Requirements `json:"replicaRequirements,omitempty"`
}

// Named says whether the component has a name that Karmada takes.
func (c Component) Named() bool {
	length := utf8.RuneCountInString(c.Name)
	return length > 0 && length <= MaximumComponentName
}

// Dependency is an object that must come with another one: by name, or by labels.
type Dependency struct {
	APIVersion    string          `json:"apiVersion"`
	Kind          string          `json:"kind"`
	Namespace     string          `json:"namespace,omitempty"`
	Name          string          `json:"name,omitempty"`
	LabelSelector json.RawMessage `json:"labelSelector,omitempty"`
}

// The codes of a Failure, as HTTP has them.
const (
	// CodeUnknown: no profile has rules for the kind and the operation.
	CodeUnknown = 404
	// CodeUnfit: the object, or what members say, is not as the rules need it, or cannot be divided so.
	CodeUnfit = 422
	// CodeBroken: a rule was stopped before it was evaluated, or gives what no client takes.
	CodeBroken = 500
)

// Failure is why a question has no answer. Its message is for people, and holds nothing out of the object but paths.
type Failure struct {
	Code    int
	Message string
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

// Index is a text within a message that was read as a whole, so that it need not be read again. The zero Index knows nothing: the text is read when
// that is needed. It is for one goroutine, and ends with the message.
type Index struct{ node *document.Node }

// IndexOf is the index of the text that stands at a node as it came.
func IndexOf(n *document.Node) Index { return Index{n} }

// Document is the text as a document of its own, of which no other sees edits; nil where nothing is known.
func (x Index) Document() *document.Document { return x.node.Document() }

// Equal says that indexes are no part of a question: what differs in nothing else is the same.
func (Index) Equal(Index) bool { return true }
