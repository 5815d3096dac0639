// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Registration is one webhook that the loaded profiles need: a set for a provider, or for the garden namespace.
type Registration struct {
	Set target.Set
	// Provider is the value of the set's namespace label; empty for the garden namespace.
	Provider string
	// Garden selects the garden namespace instead of a label.
	Garden bool
	// Forms are the objects that rules exist for, sorted.
	Forms []target.Form
	// Observed says that no rule changes anything: all are only observed.
	Observed bool
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
		prefix, isPrefix := strings.CutSuffix(f.Name, "*")
		return f.Is(group, kind, name) || isPrefix && f.Group == group && f.Kind == kind && strings.HasPrefix(name, prefix)
	})
}

// Request is one object on its way into the API server.
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
	// Document and OldDocument are Object and OldObject for a caller that has scanned them already, and nil for any other.
	// The admission edits Document.
	Document, OldDocument *document.Document
	// ObserveUntil is the time at which observed rules are given up, to leave time for the response. If zero, they run
	// until the context ends.
	ObserveUntil time.Time
}

// ConditionFalse is the reason for skipping a rule with a false condition.
const ConditionFalse = "the condition is false"

// Outcome is the outcome of a rule.
type Outcome string

// The outcomes of a rule.
const (
	// Changed: the rule changed the object.
	Changed Outcome = "changed"
	// Unchanged: the rule applies, and the object is so already.
	Unchanged Outcome = "unchanged"
	// Skipped: the condition is false, or the object has no such part.
	Skipped Outcome = "skipped"
	// Overridden: everything that the rule writes is written differently by a later rule.
	Overridden Outcome = "overridden"
	// Observed: the rule is not applied, because its mode is observe; Would and Reason describe the effect that it
	// would have.
	Observed Outcome = "observed"
	// Denied: the rule would have the object denied. Only a rule that is Observed Would be it, and By of a Failure is.
	Denied Outcome = "denied"
)

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
	// Target is the name of the target; empty when the object is none or no rule is for it.
	Target string
	// Patch is an RFC 6902 patch; nil when nothing changes.
	Patch []byte
	// Observed is the patch with the rules that are only observed; nil where there are none, or where nothing would change.
	Observed []byte
	// Versions lists the versions of the profiles with rules in Patch, in the form of Marks, separated by commas, as a
	// JSON string. It is nil without a patch.
	Versions []byte
	// Applied lists the rules of the target in the order of their application.
	Applied []Applied
	// Panic is a fault in Graft that rules brought about which are only observed, with its stack, for the log; nil: none.
	Panic error
}

// Reason says in a word why an admission failed; metrics count by it, and docs/failures.md is its table.
type Reason string

// The reasons why an object cannot be mutated. Each denies the admission.
const (
	NotLoaded          Reason = "NotLoaded"
	ProfileInvalid     Reason = "ProfileInvalid"
	ObjectUnreadable   Reason = "ObjectUnreadable"
	ContainerMissing   Reason = "ContainerMissing"
	NodePartMissing    Reason = "NodePartMissing"
	NestedUnreadable   Reason = "NestedUnreadable"
	ExpressionFailed   Reason = "ExpressionFailed"
	ClusterMissing     Reason = "ClusterMissing"
	ClusterUndecodable Reason = "ClusterUndecodable"
	FactsUnavailable   Reason = "FactsUnavailable"
	LookupFailed       Reason = "LookupFailed"
	LookupMissing      Reason = "LookupMissing"
	ContractBroken     Reason = "ContractBroken"
	DeadlineExceeded   Reason = "DeadlineExceeded"
	Internal           Reason = "Internal"
	// DeniedByRule is for an object that a rule of deny denies.
	DeniedByRule Reason = "DeniedByRule"
)

// codes are the HTTP status codes in the admission's answer.
var codes = map[Reason]int32{
	NotLoaded: 503, ProfileInvalid: 503, ObjectUnreadable: 422, ContainerMissing: 422, NodePartMissing: 422, NestedUnreadable: 422, ExpressionFailed: 500,
	ClusterMissing: 503, ClusterUndecodable: 500, FactsUnavailable: 503, LookupFailed: 503, LookupMissing: 422,
	ContractBroken: 403, DeadlineExceeded: 504, Internal: 500, DeniedByRule: 403,
}

// Failure is why an object was not mutated. Its message holds no value of the object and no value of a lookup, unless the author
// of a denial writes one into its message.
type Failure struct {
	Reason Reason
	// Message describes the error, with the rule and its position if a rule caused it.
	Message string
	// Target is the name of the target; empty when no rule is for the object.
	Target string
	// By is the rule of deny that applies; nil for other reasons.
	By *Applied
	// Err is the cause, for logs; nil where the message says all.
	Err error
}

// Rules of findings that the engine reports when it compiles, compares and rehearses profiles.
const (
	// UnknownTarget is a target that the contract does not have.
	UnknownTarget source.Rule = "unknown-target"
	// UnknownOperation is an operation that does not exist.
	UnknownOperation source.Rule = "unknown-operation"
	// OneOperation is a rule that has no operation, or several.
	OneOperation source.Rule = "one-operation"
	// WrongLookup is a lookup that cannot be made as it is written.
	WrongLookup source.Rule = "wrong-lookup"
	// MisreadNumber is a number that YAML reads otherwise than it is written.
	MisreadNumber source.Rule = "misread-number"
	// VariableCycle are variables that use each other.
	VariableCycle source.Rule = "variable-cycle"
	// Forbidden is a write that the contract forbids.
	Forbidden source.Rule = "contract-forbidden"
	// Reserved is a write that the contract reserves for Gardener.
	Reserved source.Rule = "contract-reserved"
	// NeedlessOverride is a reason that nothing needs.
	NeedlessOverride source.Rule = "needless-override"
	// SecretInName is a name that is made of a Secret.
	SecretInName source.Rule = "secret-in-name"
	// CannotKeep is a place that cannot keep the value of the old object.
	CannotKeep source.Rule = "cannot-keep"
	// UnnamedContainer is an edit of a container without a container name.
	UnnamedContainer source.Rule = "unnamed-container"
	// NoEffect is a rule or a target without any effect.
	NoEffect source.Rule = "no-effect"
	// TooEarly is a rule for a container that a later rule adds.
	TooEarly source.Rule = "too-early"
	// Conflict are two rules that cannot both be active.
	Conflict source.Rule = "conflict"
	// UnknownVolume is a mount of a volume that neither the object nor a rule has.
	UnknownVolume source.Rule = "unknown-volume"
	// UnknownContainer is a container without an image that neither the object nor a rule has.
	UnknownContainer source.Rule = "unknown-container"
	// UnknownFlag is a flag that a version of a component does not have.
	UnknownFlag source.Rule = "unknown-flag"
	// FlagValue is a value that a flag does not take.
	FlagValue source.Rule = "flag-value"
	// UnknownGate is a feature gate that a version of a component does not have, or that is locked in it.
	UnknownGate source.Rule = "unknown-feature-gate"
	// UnknownPlugin is an admission plugin that a version of kube-apiserver does not have.
	UnknownPlugin source.Rule = "unknown-admission-plugin"
	// Deprecated is a flag or a feature gate that Kubernetes deprecates.
	Deprecated source.Rule = "deprecated"
	// NotIdempotent is a rule that changes its own result when applied again.
	NotIdempotent source.Rule = "not-idempotent"
	// BreaksContract is a rule with which a sample is changed in a way that the contract forbids.
	BreaksContract source.Rule = "breaks-contract"
	// SampleDenied is a rule that would deny a sample.
	SampleDenied source.Rule = "sample-denied"
)

// Name returns the name of the rule with its item.
func (a Applied) Name() string { return nameOf(a.Rule, a.Item) }

// Error returns the message with the cause.
func (f *Failure) Error() string {
	if f.Err != nil {
		return f.Message + ": " + f.Err.Error()
	}
	return f.Message
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Code returns the HTTP status code for the response to kube-apiserver.
func (f *Failure) Code() int32 { return codes[f.Reason] }

func fail(reason Reason, err error, format string, arguments ...any) *Failure {
	return &Failure{Reason: reason, Message: fmt.Sprintf(format, arguments...), Err: err}
}

// nameOf returns the name of a rule with its item.
func nameOf(rule, item string) string {
	if item == "" {
		return rule
	}
	return rule + "[" + item + "]"
}
