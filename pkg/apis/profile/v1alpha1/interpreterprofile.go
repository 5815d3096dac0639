// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// KindInterpreterProfile is the kind of an InterpreterProfile.
const KindInterpreterProfile = "InterpreterProfile"

// InterpreterProfile defines how Karmada interprets kinds of objects to distribute them over clusters.
type InterpreterProfile struct {
	// APIVersion is graft.provider.extensions.gardener.cloud/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is InterpreterProfile.
	Kind string `json:"kind"`
	// Metadata names the profile.
	Metadata Metadata `json:"metadata"`
	// Kinds are the rules for each kind. Entries for one kind are joined in order.
	Kinds []InterpretedKind `json:"kinds"`
}

// InterpretedKind contains the rules of a kind, or of several kinds with the same rules. An operation without
// rules is not answered.
type InterpretedKind struct {
	// APIVersion is group/version of the objects, such as acme.com/v1, or acme.com/* for all versions; v1 is the core group.
	APIVersion source.Text `json:"apiVersion"`
	// Kind is the kind of the objects.
	Kind source.Text `json:"kind,omitempty"`
	// Kinds are the kinds of the objects, instead of kind, if several have the same rules.
	Kinds []source.Text `json:"kinds,omitempty"`
	// Replicas give the number of replicas and their requirements; the first matching rule answers.
	Replicas []InterpretReplicas `json:"replicas,omitempty"`
	// Components give replicas and requirements of the parts of an object; all matching rules add theirs.
	Components []InterpretComponents `json:"components,omitempty"`
	// Revise sets the number of replicas (variable replicas); all matching rules in order.
	Revise []InterpretEdit `json:"revise,omitempty"`
	// Retain keeps values of the member cluster (variable observed); all matching rules in order.
	Retain []InterpretRetain `json:"retain,omitempty"`
	// Aggregate aggregates the statuses of the members (variable members).
	Aggregate []InterpretAggregate `json:"aggregate,omitempty"`
	// Status selects the reflected status; all matching rules add theirs.
	Status []InterpretStatus `json:"status,omitempty"`
	// Health decides whether an object is healthy; the first matching rule answers.
	Health []InterpretHealth `json:"health,omitempty"`
	// Dependencies are the dependencies of an object; all matching rules add theirs.
	Dependencies []InterpretDependencies `json:"dependencies,omitempty"`
	// Prune removes parts that members do not need; all matching rules in order.
	Prune []InterpretEdit `json:"prune,omitempty"`
}

// InterpretReplicas returns the number of replicas.
type InterpretReplicas struct {
	// When is the condition, a boolean ${ CEL } expression; always by default.
	When source.Text `json:"when,omitempty"`
	// Count is the number, a whole number or an expression for one.
	Count source.Node `json:"count"`
	// Requirements are the requirements of each replica: Karmada's resourceRequest, nodeClaim, namespace and
	// priorityClassName; texts may contain ${ CEL }.
	Requirements InterpretRequirements `json:"requirements,omitempty"`
}

// InterpretRequirements is a tree with ${ CEL } in the form of Karmada's ReplicaRequirements.
type InterpretRequirements struct{ source.Node }

// DecodeNode stores the node.
func (r *InterpretRequirements) DecodeNode(n source.Node, _ string) source.Findings {
	r.Node = n
	return nil
}

// JSONSchema returns the schema of requirements.
func (InterpretRequirements) JSONSchema() string {
	return `{"type": ["object", "string"], "properties": {"nodeClaim": {"type": ["object", "string"]}, "resourceRequest": {"type": ["object", "string"]}, ` +
		`"namespace": {"type": "string"}, "priorityClassName": {"type": "string"}}}`
}

// InterpretComponents returns parts of an object, each with its own replicas.
type InterpretComponents struct {
	// When is the condition; always by default. With forEach it is evaluated for each item.
	When source.Text `json:"when,omitempty"`
	// ForEach is a ${ CEL } expression for a list; each item (variable item) is a component.
	ForEach source.Text `json:"forEach,omitempty"`
	// Name is the name of the component, at most 32 characters.
	Name source.Text `json:"name"`
	// Count is the number of replicas.
	Count source.Node `json:"count"`
	// Requirements are the requirements of each.
	Requirements InterpretRequirements `json:"requirements,omitempty"`
}

// InterpretEdit changes an object.
type InterpretEdit struct {
	// When is the condition; always by default.
	When source.Text `json:"when,omitempty"`
	// Set are values by path, such as spec.replicas; texts may contain ${ CEL }. Null removes the field.
	Set map[string]source.Node `json:"set,omitempty"`
	// Remove are the paths to remove.
	Remove []source.Text `json:"remove,omitempty"`
	// Refuse is the message of a refusal; it may contain ${ CEL }.
	Refuse source.Text `json:"refuse,omitempty"`
}

// InterpretRetain keeps fields that the member cluster owns.
type InterpretRetain struct {
	InterpretEdit

	// Items apply the rule to each item that both objects have (variables item and observedItem); its paths are below
	// the item.
	Items *InterpretItems `json:"items,omitempty"`
	// Fields are paths to copy from the observed object, if present.
	Fields []source.Text `json:"fields,omitempty"`
}

// InterpretItems identifies the items of a list in two objects.
type InterpretItems struct {
	// Path is the path of the list in both objects.
	Path source.Text `json:"path"`
	// Key is the field that identifies items, such as name. The first item with a key counts.
	Key source.Text `json:"key"`
}

// InterpretStatus selects the reflected part of a status.
type InterpretStatus struct {
	// When is the condition; always by default.
	When source.Text `json:"when,omitempty"`
	// Keep are paths relative to status; without keep and set, the whole status is reflected.
	Keep []source.Text `json:"keep,omitempty"`
	// Set are values by path relative to status; any string in them may contain ${ CEL }.
	Set map[string]source.Node `json:"set,omitempty"`
}

// InterpretHealth decides if an object is healthy.
type InterpretHealth struct {
	// When is the condition; always by default.
	When source.Text `json:"when,omitempty"`
	// Healthy is a boolean ${ CEL } expression.
	Healthy source.Text `json:"healthy"`
}

// InterpretDependencies returns objects that must be propagated with another.
type InterpretDependencies struct {
	// When is the condition; always by default. With forEach it is evaluated for each item.
	When source.Text `json:"when,omitempty"`
	// ForEach is a ${ CEL } expression for a list; each item (variable item) is a dependency.
	ForEach source.Text `json:"forEach,omitempty"`
	// APIVersion is the apiVersion of the dependency.
	APIVersion source.Text `json:"apiVersion"`
	// Kind is the kind of the dependency.
	Kind source.Text `json:"kind"`
	// Namespace is the namespace of the dependency; by default the object's, none if empty.
	Namespace source.Text `json:"namespace,omitempty"`
	// Name is the name of the dependency; without it, labelSelector is required.
	Name source.Text `json:"name,omitempty"`
	// LabelSelector selects dependencies by labels, in the form of Kubernetes; any string in it may contain ${
	// CEL }.
	LabelSelector source.Node `json:"labelSelector,omitempty"`
}

// InterpretAggregate sets one field of a status. Exactly one of the fields below when selects the method. Their
// paths refer to a member's status. If no member has a value, the field is removed.
type InterpretAggregate struct {
	// Field is the path to set, such as status.readyReplicas.
	Field source.Text `json:"field"`
	// When is the condition; always by default.
	When source.Text `json:"when,omitempty"`
	// Sum adds the numbers of the members.
	Sum source.Text `json:"sum,omitempty"`
	// Min is the smallest number; members without one are ignored.
	Min source.Text `json:"min,omitempty"`
	// Max is the largest number; members without one are ignored.
	Max source.Text `json:"max,omitempty"`
	// All is true if the value is true for all members; a missing value is not true.
	All source.Text `json:"all,omitempty"`
	// Any is true if the value is true for a member.
	Any source.Text `json:"any,omitempty"`
	// Same is the common value of all members with one; removed if they differ.
	Same source.Text `json:"same,omitempty"`
	// First is the value of the first member with one, by cluster name.
	First source.Text `json:"first,omitempty"`
	// Join is the texts of all members with cluster names; the text of a single member stays unchanged.
	Join source.Text `json:"join,omitempty"`
	// Common contains the items that all members' lists have in common, in the order of the first.
	Common source.Text `json:"common,omitempty"`
	// Worst is the first value of an order that a member has.
	Worst *InterpretWorst `json:"worst,omitempty"`
	// Union contains the items of all members' lists.
	Union *InterpretUnion `json:"union,omitempty"`
	// Conditions contains the worst condition of each type among the members.
	Conditions *InterpretConditions `json:"conditions,omitempty"`
	// Value is any value; any string in it may contain ${ CEL } over members. Null removes the field.
	Value source.Node `json:"value,omitempty"`
}

// InterpretWorst is the first value of an order that a member has.
type InterpretWorst struct {
	// Path is the path of the value in a member's status.
	Path source.Text `json:"path"`
	// By is the path of the compared value; by default the value itself.
	By source.Text `json:"by,omitempty"`
	// Order is from worst to best; unknown values are worst.
	Order []source.Text `json:"order"`
}

// InterpretConditions returns the worst condition of each type among the members: False, Unknown, any other,
// True.
type InterpretConditions struct {
	// Path is the path of the list in a member's status.
	Path source.Text `json:"path"`
	// Negative lists types that are worse when True, such as Degraded.
	Negative []source.Text `json:"negative,omitempty"`
}

// InterpretUnion returns the items of all members' lists.
type InterpretUnion struct {
	// Path is the path of the list in a member's status.
	Path source.Text `json:"path"`
	// Key is the field that identifies items; by default the whole item. Different items with one key are an error.
	Key source.Text `json:"key,omitempty"`
	// Prefix is the text field, such as name, that gets the cluster name and a slash as prefix for several members.
	Prefix source.Text `json:"prefix,omitempty"`
}
