// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// Lookup reads one object and keeps only the listed fields or keys. Exactly one of the first five fields selects the
// object. The names may contain ${ CEL } over everything except lookups; objects with constant names are cached.
type Lookup struct {
	// Secret is the name of a Secret in the namespace of the control plane. Its values are never shown.
	Secret source.Text `json:"secret,omitempty"`
	// ConfigMap is the name of a ConfigMap in the namespace of the control plane.
	ConfigMap source.Text `json:"configMap,omitempty"`
	// Infrastructure is the name of an Infrastructure (extensions.gardener.cloud/v1alpha1) in the namespace of the control plane.
	Infrastructure source.Text `json:"infrastructure,omitempty"`
	// BackupBucket is the name of a BackupBucket (extensions.gardener.cloud/v1alpha1).
	BackupBucket source.Text `json:"backupBucket,omitempty"`
	// Object is any other object.
	Object *LookupObject `json:"object,omitempty"`

	// Keys are keys of the data of a Secret or ConfigMap, seen as lookups.<name>.<key>: strings.
	Keys []string `json:"keys,omitempty"`
	// Paths are dotted paths to fields, by name; seen as lookups.<name>.<path's name>, of any type.
	Paths map[string]string `json:"paths,omitempty"`
	// Labels are keys of labels, seen in the map lookups.<name>.labels if present.
	Labels []string `json:"labels,omitempty"`
	// Annotations are keys of annotations, seen in the map lookups.<name>.annotations.
	Annotations []string `json:"annotations,omitempty"`
	// Checksum sets lookups.<name>.checksum, Gardener's SHA-256 of the data of a Secret or ConfigMap in hexadecimal.
	Checksum bool `json:"checksum,omitempty"`

	// Optional permits that the object, or any of its keys and paths, is missing.
	Optional bool `json:"optional,omitempty"`
}

// LookupObject names an object of any kind.
type LookupObject struct {
	// APIVersion is the apiVersion of the object, such as v1 or apps/v1.
	APIVersion string `json:"apiVersion"`
	// Kind is the kind of the object.
	Kind string `json:"kind"`
	// Name is the name of the object.
	Name source.Text `json:"name"`
	// Namespace is its namespace; by default the namespace of the control plane.
	Namespace source.Text `json:"namespace,omitempty"`
	// Resource is the plural of the kind; by default derived from the kind.
	Resource string `json:"resource,omitempty"`
}
