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
	// Parameters are values that expressions read as parameters.<name>. What stands here is the default; the
	// installation may override it with a value of the same type.
	Parameters map[string]source.Node `json:"parameters,omitempty"`
	// Lookups are named reads in the namespace of the shoot, seen by expressions as lookups.<name>.<key>.
	Lookups map[string]Lookup `json:"lookups,omitempty"`
	// Variables are named values, seen by expressions as variables.<name>. They may use each other, without a cycle.
	Variables map[string]source.Node `json:"variables,omitempty"`
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

// Lookup reads one object in the namespace of the shoot and keeps the named keys of its data, nothing else.
type Lookup struct {
	// Secret is the name of a Secret to read. Either this or ConfigMap is set.
	Secret string `json:"secret,omitempty"`
	// ConfigMap is the name of a ConfigMap to read.
	ConfigMap string `json:"configMap,omitempty"`
	// Keys are the keys of the object's data that expressions may see; at least one.
	Keys []string `json:"keys"`
	// Optional says that the object or a key may be missing; otherwise the admission is denied when it is.
	Optional bool `json:"optional,omitempty"`
}
