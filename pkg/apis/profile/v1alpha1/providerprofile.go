// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// ProviderProfile describes the changes of a cloud to the control planes that Gardener creates.
type ProviderProfile struct {
	// APIVersion is graft.provider.extensions.gardener.cloud/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is ProviderProfile.
	Kind string `json:"kind"`
	// Metadata names the profile.
	Metadata Metadata `json:"metadata"`
	// Providers are the values of the namespace labels {shoot,seed,backup}.gardener.cloud/provider of the profile.
	Providers []string `json:"providers"`
	// Mode is enforce (the default), or observe: rules are counted but not applied.
	Mode string `json:"mode,omitempty"`
	// Retired disables all rules and restores recorded values.
	Retired bool `json:"retired,omitempty"`
	// Observe lists sets with rules that are only observed: controlplane, controlplaneexposure, controlplanebackup.
	Observe []string `json:"observe,omitempty"`
	// Parameters are defaults for parameters.<name> in expressions; the installation may override them with values of
	// the same type.
	Parameters map[string]source.Node `json:"parameters,omitempty"`
	// Kubernetes is the constraint on supported versions of shoots, such as ">= 1.31"; all by default.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Gardener is the constraint on Gardener versions, such as "< 1.96"; all by default. Other installations ignore the
	// profile.
	Gardener string `json:"gardener,omitempty"`
	// ImageVector is the path of an image vector in Gardener's format, relative to the profile; expressions read
	// images["<name>"].
	ImageVector source.Text `json:"imageVector,omitempty"`
	// Lookups are named reads of objects, seen by expressions as lookups.<name>.
	Lookups map[string]Lookup `json:"lookups,omitempty"`
	// Variables are named values, seen by expressions as variables.<name>. They may use each other, without a cycle.
	Variables map[string]source.Node `json:"variables,omitempty"`
	// Deny are rules that deny objects before other rules apply; the first match denies.
	Deny []Denial `json:"deny,omitempty"`
	// ControlPlane is applied in namespaces labelled shoot.gardener.cloud/provider.
	ControlPlane Set `json:"controlplane,omitempty"`
	// ControlPlaneExposure is applied in namespaces labelled seed.gardener.cloud/provider (Gardener's seedprovider).
	ControlPlaneExposure Set `json:"controlplaneexposure,omitempty"`
	// ControlPlaneBackup is applied in namespaces labelled backup.gardener.cloud/provider.
	ControlPlaneBackup Set `json:"controlplanebackup,omitempty"`
}

// Metadata is the metadata of a document.
type Metadata struct {
	// Name is unique among the profiles of an installation.
	Name string `json:"name"`
	// Labels and Annotations are for authors and tools; Graft ignores them.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}
