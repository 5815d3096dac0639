// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// KindInterpreterProfileTest is the kind of an InterpreterProfileTest.
const KindInterpreterProfileTest = "InterpreterProfileTest"

// InterpreterProfileTest is a table of cases with the expected answers of profiles to Karmada. graft test runs
// it.
type InterpreterProfileTest struct {
	// APIVersion is graft.provider.extensions.gardener.cloud/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is InterpreterProfileTest.
	Kind string `json:"kind"`
	// Metadata names the table for its authors; reports name it by its file.
	Metadata Metadata `json:"metadata,omitempty"`
	// Profiles are the profiles, relative to this file; by default the nearest profile.yaml in this folder or above.
	Profiles []source.Text `json:"profiles,omitempty"`
	// Gardener adds the profiles of Gardener's kinds.
	Gardener bool `json:"gardener,omitempty"`
	// Optional are the names of Gardener's optional profiles to activate, such as worker-replicas.
	Optional []source.Text `json:"optional,omitempty"`
	// Objects are objects for cases, by name. With from, the entry is a merge patch of another object (RFC 7386).
	Objects map[string]source.Node `json:"objects,omitempty"`
	// Cases are the cases in order.
	Cases []InterpreterTestCase `json:"cases"`
}

// InterpreterTestCase is one question or several about an object, with the expected answer.
type InterpreterTestCase struct {
	InterpreterTestQuestion

	// Name is unique in the table.
	Name source.Text `json:"name"`
	// Description describes the case.
	Description string `json:"description,omitempty"`
	// Object is the object: a name from objects, a path relative to this file, or the object itself.
	Object source.Node `json:"object"`
	// Observed is the member's object for retain, written like object.
	Observed source.Node `json:"observed,omitempty"`
	// Golden compares the whole answer with a golden file named like this file.
	Golden bool `json:"golden,omitempty"`
}

// InterpreterTestQuestion has the inputs of one or more operations, and the expected answers.
type InterpreterTestQuestion struct {
	// Operation is one operation or a list.
	Operation TestTexts `json:"operation"`
	// Replicas is the desired number of replicas, for revise.
	Replicas *int32 `json:"replicas,omitempty"`
	// Members are the members for aggregate, by cluster name.
	Members map[string]InterpreterTestMember `json:"members,omitempty"`
	// Want is the expected answer.
	Want InterpreterTestWant `json:"want,omitempty"`
}

// InterpreterTestMember is the state of a copy in one member cluster.
type InterpreterTestMember struct {
	// Status is the status of the copy; by default it has none.
	Status source.Node `json:"status,omitempty"`
	// Applied reports whether the object was applied there; true by default.
	Applied *bool `json:"applied,omitempty"`
	// Message is the reason why it was not applied.
	Message string `json:"message,omitempty"`
	// Health is Healthy, Unhealthy or Unknown.
	Health string `json:"health,omitempty" oneOf:"Healthy,Unhealthy,Unknown"`
}

// InterpreterTestWant is the expected part of an answer. Mappings may have more members; lists and strings are compared
// as a whole; null expects no value.
type InterpreterTestWant struct {
	// Replicas is the number of replicas (replicas).
	Replicas source.Node `json:"replicas,omitempty"`
	// Requirements are the requirements of each replica (replicas).
	Requirements source.Node `json:"requirements,omitempty"`
	// Components are all components, in order (components).
	Components source.Node `json:"components,omitempty"`
	// Dependencies are all dependencies, in order (dependencies).
	Dependencies source.Node `json:"dependencies,omitempty"`
	// Status is the reflected status (status).
	Status source.Node `json:"status,omitempty"`
	// Healthy is true or false (health).
	Healthy source.Node `json:"healthy,omitempty"`
	// Object is the resulting object (revise, prune, retain, aggregate).
	Object source.Node `json:"object,omitempty"`
	// Fields are values of the changed object by path, such as spec.replicas.
	Fields map[string]source.Node `json:"fields,omitempty"`
	// Patch is the complete RFC 6902 patch of the object; [] expects no change.
	Patch source.Node `json:"patch,omitempty"`
	// Failure expects a failure instead of an answer.
	Failure *InterpreterTestFailure `json:"failure,omitempty"`
}

// InterpreterTestFailure is the expected reason of a failure.
type InterpreterTestFailure struct {
	// Code is 404 without rules, 422 if the object does not fit, 500 if interrupted; any by default.
	Code int32 `json:"code,omitempty"`
	// Message is a part of the message; any by default.
	Message source.Text `json:"message,omitempty"`

	// At is the whole expectation.
	At source.Node
}

// DecodeNode decodes the fields and stores the node.
func (f *InterpreterTestFailure) DecodeNode(n source.Node, path string) source.Findings {
	type plain InterpreterTestFailure
	f.At = n
	if n.Absent() {
		return nil
	}
	return source.Decode(n, path, (*plain)(f))
}
