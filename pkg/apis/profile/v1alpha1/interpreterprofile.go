// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// KindInterpreterProfile is the kind of an InterpreterProfile.
const KindInterpreterProfile = "InterpreterProfile"

// InterpreterProfile says what Karmada must know of kinds of objects to spread them over clusters.
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

// InterpretedKind is what is known of a kind, or of several kinds that have the same rules. An operation without rules is not answered.
type InterpretedKind struct {
	// APIVersion is group/version of the objects, such as acme.com/v1, or acme.com/* for all versions; v1 is the core group.
	APIVersion source.Text `json:"apiVersion"`
	// Kind is that of the objects.
	Kind source.Text `json:"kind,omitempty"`
	// Kinds are those of the objects, in place of kind, where several have the same rules.
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
	// Health says whether an object is healthy; the first that applies does.
	Health []InterpretHealth `json:"health,omitempty"`
	// Dependencies are the dependencies of an object; all matching rules add theirs.
	Dependencies []InterpretDependencies `json:"dependencies,omitempty"`
	// Prune removes parts that members do not need; all matching rules in order.
	Prune []InterpretEdit `json:"prune,omitempty"`
}

// InterpretReplicas is how many replicas an object has.
type InterpretReplicas struct {
	// When is the condition, a boolean ${ CEL } expression; always when absent.
	When source.Text `json:"when,omitempty"`
	// Count is the number, a whole number or an expression for one.
	Count source.Node `json:"count"`
	// Requirements are the requirements of each replica: Karmada's resourceRequest, nodeClaim, namespace and
	// priorityClassName; texts may contain ${ CEL }.
	Requirements InterpretRequirements `json:"requirements,omitempty"`
}

// InterpretRequirements is a tree with ${ CEL } in the form of Karmada's ReplicaRequirements.
type InterpretRequirements struct{ source.Node }

// DecodeNode keeps what is written.
func (r *InterpretRequirements) DecodeNode(n source.Node, _ string) source.Findings {
	r.Node = n
	return nil
}

// JSONSchema is what an editor is told about requirements.
func (InterpretRequirements) JSONSchema() string {
	return `{"type": ["object", "string"], "properties": {"nodeClaim": {"type": ["object", "string"]}, "resourceRequest": {"type": ["object", "string"]}, ` +
		`"namespace": {"type": "string"}, "priorityClassName": {"type": "string"}}}`
}

// InterpretComponents are parts of an object, each with replicas of its own.
type InterpretComponents struct {
	// When is the condition; always when absent. With forEach it is asked for each item.
	When source.Text `json:"when,omitempty"`
	// ForEach is a list, a ${ CEL } expression: there is a component for each of its items, the variable item.
	ForEach source.Text `json:"forEach,omitempty"`
	// Name is that of the component, at most 32 characters.
	Name source.Text `json:"name"`
	// Count is how many replicas it has.
	Count source.Node `json:"count"`
	// Requirements are the requirements of each.
	Requirements InterpretRequirements `json:"requirements,omitempty"`
}

// InterpretEdit changes an object.
type InterpretEdit struct {
	// When is the condition; always when absent.
	When source.Text `json:"when,omitempty"`
	// Set are values by path, such as spec.replicas; texts may contain ${ CEL }. Null removes the field.
	Set map[string]source.Node `json:"set,omitempty"`
	// Remove are paths.
	Remove []source.Text `json:"remove,omitempty"`
	// Refuse is the message with which it is refused; it may hold ${ CEL }.
	Refuse source.Text `json:"refuse,omitempty"`
}

// InterpretRetain keeps what a member cluster has decided.
type InterpretRetain struct {
	InterpretEdit

	// Items apply the rule to each item that both objects have (variables item and observedItem); its paths are below
	// the item.
	Items *InterpretItems `json:"items,omitempty"`
	// Fields are paths to copy from the observed object, if present.
	Fields []source.Text `json:"fields,omitempty"`
}

// InterpretItems are the items of a list that two objects have.
type InterpretItems struct {
	// Path is that of the list in both objects.
	Path source.Text `json:"path"`
	// Key is the field that identifies items, such as name. The first of equal ones counts.
	Key source.Text `json:"key"`
}

// InterpretStatus is what of a status is reflected.
type InterpretStatus struct {
	// When is the condition; always when absent.
	When source.Text `json:"when,omitempty"`
	// Keep are paths below status; all of it when neither keep nor set is there.
	Keep []source.Text `json:"keep,omitempty"`
	// Set are values by their paths below status; any text in them may hold ${ CEL }.
	Set map[string]source.Node `json:"set,omitempty"`
}

// InterpretHealth is whether an object is healthy.
type InterpretHealth struct {
	// When is the condition; always when absent.
	When source.Text `json:"when,omitempty"`
	// Healthy is a boolean ${ CEL } expression.
	Healthy source.Text `json:"healthy"`
}

// InterpretDependencies are objects that must come with another.
type InterpretDependencies struct {
	// When is the condition; always when absent. With forEach it is asked for each item.
	When source.Text `json:"when,omitempty"`
	// ForEach is a list, a ${ CEL } expression: there is a dependency for each of its items, the variable item.
	ForEach source.Text `json:"forEach,omitempty"`
	// APIVersion is that of the dependency.
	APIVersion source.Text `json:"apiVersion"`
	// Kind is that of the dependency.
	Kind source.Text `json:"kind"`
	// Namespace is that of the dependency; the object's when absent, none when empty.
	Namespace source.Text `json:"namespace,omitempty"`
	// Name is that of the dependency; without it, labelSelector is needed.
	Name source.Text `json:"name,omitempty"`
	// LabelSelector chooses dependencies by their labels, in the form of Kubernetes; any text in it may hold ${ CEL }.
	LabelSelector source.Node `json:"labelSelector,omitempty"`
}

// InterpretAggregate writes one field of a status. Exactly one of the fields below when says how. Their paths are those of a member's status. Where
// no member has what is asked for, the field is taken away.
type InterpretAggregate struct {
	// Field is the path that is written, such as status.readyReplicas.
	Field source.Text `json:"field"`
	// When is the condition; always when absent.
	When source.Text `json:"when,omitempty"`
	// Sum is that of the numbers; members that have none do not count.
	Sum source.Text `json:"sum,omitempty"`
	// Min is the smallest number; members that have none do not count.
	Min source.Text `json:"min,omitempty"`
	// Max is the largest number; members that have none do not count.
	Max source.Text `json:"max,omitempty"`
	// All says whether all members have true; one that has nothing has not.
	All source.Text `json:"all,omitempty"`
	// Any says whether a member has true.
	Any source.Text `json:"any,omitempty"`
	// Same is the common value of all members with one; removed if they differ.
	Same source.Text `json:"same,omitempty"`
	// First is the value of the first member with one, by cluster name.
	First source.Text `json:"first,omitempty"`
	// Join is the texts of all members with cluster names; that of a single member unchanged.
	Join source.Text `json:"join,omitempty"`
	// Common is the items that the lists of all members have that have one, in the order of the first.
	Common source.Text `json:"common,omitempty"`
	// Worst is the first value of an order that a member has.
	Worst *InterpretWorst `json:"worst,omitempty"`
	// Union is the items of all members' lists.
	Union *InterpretUnion `json:"union,omitempty"`
	// Conditions is one condition of each type, the worst that a member has.
	Conditions *InterpretConditions `json:"conditions,omitempty"`
	// Value is any value; any text in it may hold ${ CEL } over members. Null takes the field away.
	Value source.Node `json:"value,omitempty"`
}

// InterpretWorst is the first value of an order that a member has.
type InterpretWorst struct {
	// Path is that of the value in a member's status.
	Path source.Text `json:"path"`
	// By is the path of the compared value; by default the value itself.
	By source.Text `json:"by,omitempty"`
	// Order is from worst to best; unknown values are worst.
	Order []source.Text `json:"order"`
}

// InterpretConditions is one condition of each type, the worst that a member has: False, Unknown, any other, True.
type InterpretConditions struct {
	// Path is that of the list in a member's status.
	Path source.Text `json:"path"`
	// Negative are the types for which True is worst and False best.
	Negative []source.Text `json:"negative,omitempty"`
}

// InterpretUnion is the items of all members' lists.
type InterpretUnion struct {
	// Path is that of the list in a member's status.
	Path source.Text `json:"path"`
	// Key is the field that identifies items; by default the whole item. Different items with one key are an error.
	Key source.Text `json:"key,omitempty"`
	// Prefix is the text field, such as name, that gets the cluster name and a slash as prefix for several members.
	Prefix source.Text `json:"prefix,omitempty"`
}
