// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// ProviderProfile says what a cloud changes on the control planes that Gardener creates.
type ProviderProfile struct {
	// APIVersion is graft.provider.extensions.gardener.cloud/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is ProviderProfile.
	Kind string `json:"kind"`
	// Metadata names the profile.
	Metadata Metadata `json:"metadata"`
	// Providers are the values of the namespace labels {shoot,seed,backup}.gardener.cloud/provider that the profile serves.
	Providers []string `json:"providers"`
	// Mode is enforce, which is the default, or observe: then no rule is applied, and what the rules would do is counted.
	Mode string `json:"mode,omitempty"`
	// Retired says that the profile is on its way out: no rule is applied, and what rules left on objects is taken back.
	Retired bool `json:"retired,omitempty"`
	// Observe lists sets of which the rules are only observed: controlplane, controlplaneexposure, controlplanebackup.
	Observe []string `json:"observe,omitempty"`
	// Parameters are values that expressions read as parameters.<name>. What stands here is the default; the
	// installation may override it with a value of the same type.
	Parameters map[string]source.Node `json:"parameters,omitempty"`
	// Kubernetes is the constraint, such as ">= 1.31", on the versions of shoots that the profile supports; all when empty.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Gardener is the constraint, such as "< 1.96", on the versions of Gardener that the profile is for; all when empty. Other
	// installations leave the profile out.
	Gardener string `json:"gardener,omitempty"`
	// ImageVector is the path of a file beside the profile, in the format of Gardener's image vectors; expressions see the
	// images as images["<name>"].
	ImageVector source.Text `json:"imageVector,omitempty"`
	// Lookups are named reads of objects, seen by expressions as lookups.<name>.
	Lookups map[string]Lookup `json:"lookups,omitempty"`
	// Variables are named values, seen by expressions as variables.<name>. They may use each other, without a cycle.
	Variables map[string]source.Node `json:"variables,omitempty"`
	// Deny are the rules by which objects are denied before any other rule is applied; the first whose condition holds does.
	Deny []Denial `json:"deny,omitempty"`
	// ControlPlane is applied in namespaces labelled shoot.gardener.cloud/provider.
	ControlPlane Set `json:"controlplane,omitempty"`
	// ControlPlaneExposure is applied in namespaces labelled seed.gardener.cloud/provider; Gardener's documentation calls
	// it seedprovider today.
	ControlPlaneExposure Set `json:"controlplaneexposure,omitempty"`
	// ControlPlaneBackup is applied in namespaces labelled backup.gardener.cloud/provider.
	ControlPlaneBackup Set `json:"controlplanebackup,omitempty"`
}

// Metadata is the part of a Kubernetes object's metadata that a document has.
type Metadata struct {
	// Name is unique among the profiles of an installation.
	Name string `json:"name"`
	// Labels and Annotations are for the people and tools that keep the document; Graft does not read them.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}
