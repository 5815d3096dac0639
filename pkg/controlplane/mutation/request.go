// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ConditionFalse is the reason for skipping a rule with a false condition.
const ConditionFalse = "the condition is false"

// The outcomes of a rule.
const (
	// Changed: the rule changed the object.
	Changed Outcome = "changed"
	// Unchanged: the rule applies, but the object already has its values.
	Unchanged Outcome = "unchanged"
	// Skipped: the condition is false, or the object has no such part.
	Skipped Outcome = "skipped"
	// Overridden: everything that the rule writes is written differently by a later rule.
	Overridden Outcome = "overridden"
	// Observed: the rule is not applied, because its mode is observe; Would and Reason describe the effect that it
	// would have.
	Observed Outcome = "observed"
	// Denied: the rule would deny the object. It is the Would of an observed rule, and the outcome of By in a Failure.
	Denied Outcome = "denied"
)

// Registration is one webhook that the loaded profiles need: a set for a provider, or for the garden namespace.
type Registration struct {
	Set target.Set
	// Provider is the value of the set's namespace label; empty for the garden namespace.
	Provider string
	// Garden selects the garden namespace instead of a label.
	Garden bool
	// Forms lists the forms of objects with rules, sorted.
	Forms []target.Form
	// Observed is true if all rules are only observed.
	Observed bool
}

// Request is an object that the API server wants to store.
type Request struct {
	Set      target.Set
	Provider string
	Garden   bool
	// Operation is CREATE or UPDATE.
	Operation            string
	Namespace, Name      string
	Group, Version, Kind string
	// Object is the object as JSON.
	Object []byte
	// OldObject is the current object as JSON, or nil on CREATE.
	OldObject []byte
	// Document and OldDocument are the scanned Object and OldObject if the caller has scanned them, and otherwise nil.
	// The admission edits Document.
	Document, OldDocument *document.Document
	// ObserveUntil is the time at which observed rules are interrupted, to leave time for the response. If zero, they
	// run until the context ends.
	ObserveUntil time.Time
}

// Outcome is the outcome of a rule.
type Outcome string

// Applied is one rule of the object's target with its outcome.
type Applied struct {
	// Profile and Rule are the names of the profile and the rule.
	Profile, Rule string
	// Item is the item of a rule with forEach; empty for other rules.
	Item string
	// Position is the position of the rule in the profile.
	Position source.Position
	Outcome  Outcome
	// Would is the outcome that an Observed rule would have: Changed, Unchanged, Overridden or Denied. It is empty for
	// other rules.
	Would Outcome
	// Reason is the reason for skipping the rule, the name of the overriding rule, or the effect that it would have. It
	// is empty otherwise.
	Reason string
}

// Result is the result of an admission.
type Result struct {
	// Target is the name of the target; empty if the object is no target or has no rule.
	Target string
	// Patch is an RFC 6902 patch, or nil if nothing changes.
	Patch []byte
	// Versions lists the versions of the profiles with rules in Patch, in the form of Marks, separated by commas. It is
	// empty without a patch.
	Versions string
	// Applied lists the rules of the target in the order of their application.
	Applied []Applied
	// Panic is a panic while observed rules were evaluated, with its stack, for the log; nil means none.
	Panic error
}

// CreationOf returns the admission request for the creation of an object.
func CreationOf(root *document.Node, garden bool) Request {
	version := schema.FromAPIVersionAndKind(text(root.Get("apiVersion")), text(root.Get("kind")))
	return Request{
		Garden: garden, Operation: "CREATE", Namespace: text(root.Find("metadata", "namespace")), Name: text(root.Find("metadata", "name")),
		Group: version.Group, Version: version.Version, Kind: version.Kind,
	}
}

// Selects reports whether the webhook is called for objects in a namespace with these labels.
func (r Registration) Selects(namespace string, labels map[string]string) bool {
	if r.Garden {
		return namespace == target.GardenNamespace
	}
	provider, ok := labels[r.Set.NamespaceLabel()]
	return ok && provider == r.Provider
}

// Has reports whether rules exist for an object.
func (r Registration) Has(group, kind, name string) bool {
	return slices.ContainsFunc(r.Forms, func(f target.Form) bool {
		return f.Is(group, kind, name) || formKey{f.Group, f.Kind, f.Name}.covers(group, kind, name)
	})
}

// Name returns the name of the rule with its item.
func (a Applied) Name() string { return nameOf(a.Rule, a.Item) }
