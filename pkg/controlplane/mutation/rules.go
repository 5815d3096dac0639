// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// The rules of profiles: what the engine finds when it compiles, compares and rehearses them.
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
	// CannotKeep is a place that cannot stay what the old object has.
	CannotKeep source.Rule = "cannot-keep"
	// UnnamedContainer is an edit of a container where nobody says of which.
	UnnamedContainer source.Rule = "unnamed-container"
	// NoEffect is a rule, or a target, from which nothing comes.
	NoEffect source.Rule = "no-effect"
	// TooEarly is a rule for a container that a later rule adds.
	TooEarly source.Rule = "too-early"
	// Conflict are two rules that cannot both be in force.
	Conflict source.Rule = "conflict"
	// UnknownVolume is a mount of a volume that nobody brings.
	UnknownVolume source.Rule = "unknown-volume"
	// UnknownContainer is a container without an image that nobody brings.
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
	// NotIdempotent is a rule that changes again what it has made.
	NotIdempotent source.Rule = "not-idempotent"
	// BreaksContract is a rule with which a sample is changed in a way that the contract forbids.
	BreaksContract source.Rule = "breaks-contract"
	// SampleDenied is a rule for which a sample would be denied.
	SampleDenied source.Rule = "sample-denied"
)
