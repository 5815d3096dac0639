// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds that lookups know by a word of their own.
var (
	Secret         = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	ConfigMap      = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	Infrastructure = schema.GroupVersionKind{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "Infrastructure"}
	BackupBucket   = schema.GroupVersionKind{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "BackupBucket"}
)

// Scope says whether the objects of a kind live in namespaces.
type Scope string

// The scopes; of a kind that only a profile names it is not known before the API server was asked.
const (
	ScopeUnknown    Scope = ""
	ScopeNamespaced Scope = "Namespaced"
	ScopeCluster    Scope = "Cluster"
)

// LookupRequest names an object and what is read of it.
type LookupRequest struct {
	// Name is that of the lookup in expressions: lookups.<name>.
	Name string
	schema.GroupVersionKind
	// Resource is the plural by which the API knows the kind.
	Resource string
	Scope    Scope
	// Namespace is that of the object where it is not the control plane's.
	Namespace string
	// ObjectName is the name of the object; Computed says that an expression gave it for this one admission.
	ObjectName string
	Computed   bool
	// Keys are keys of the data of a Secret or ConfigMap.
	Keys []string
	// Fields are paths to fields, by the name under which expressions see them.
	Fields map[string]Path
	// Labels and Annotations are keys of those.
	Labels, Annotations []string
	// Checksum is that of the data of a Secret or ConfigMap.
	Checksum bool
	// Optional says that the object and each of its keys and paths may be missing.
	Optional bool
}

// IsSecret says that what is read must never be shown.
func (l LookupRequest) IsSecret() bool { return l.GroupVersionKind == Secret }

// In is the namespace in which the object is looked up for a control plane in the given one; "" where the kind has none.
func (l LookupRequest) In(namespace string) string {
	switch {
	case l.Scope == ScopeCluster:
		return ""
	case l.Namespace != "":
		return l.Namespace
	default:
		return namespace
	}
}

// Selection is what the request reads.
func (l LookupRequest) Selection() Selection {
	return Selection{
		Keys: l.Keys, Paths: slices.Collect(maps.Values(l.Fields)), Labels: l.Labels, Annotations: l.Annotations, Checksum: l.Checksum,
	}
}

// Found is what was read of an object: only what is named, and of that what is there.
type Found struct {
	Keys map[string]string
	// Fields are by the name that the request gives them; before Pick, by their path.
	Fields              map[string]any
	Labels, Annotations map[string]string
	Checksum            string
}

// Missing is the error for an object that does not exist; nil when the lookup is optional.
func (l LookupRequest) Missing() error {
	if l.Optional {
		return nil
	}
	return fmt.Errorf("reading the %s %s: %w", l.Kind, l.ObjectName, ErrNotFound)
}

// Pick keeps of what was found what the request names. A key or path that is missing is ErrNotFound unless the request is optional.
func (l LookupRequest) Pick(f *Found) (*Found, error) {
	picked := &Found{
		Keys: keep(f.Keys, l.Keys), Labels: keep(f.Labels, l.Labels), Annotations: keep(f.Annotations, l.Annotations),
		Fields: make(map[string]any, len(l.Fields)),
	}
	for name, path := range l.Fields {
		if value, ok := f.Fields[string(path)]; ok {
			picked.Fields[name] = value
		}
	}
	if l.Checksum {
		picked.Checksum = f.Checksum
	}
	if l.Optional {
		return picked, nil
	}
	for _, key := range l.Keys {
		if _, ok := picked.Keys[key]; !ok {
			return nil, fmt.Errorf("the %s %s has no key %s: %w", l.Kind, l.ObjectName, key, ErrNotFound)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Fields)) {
		if _, ok := picked.Fields[name]; !ok {
			return nil, fmt.Errorf("the %s %s has no %s: %w", l.Kind, l.ObjectName, l.Fields[name], ErrNotFound)
		}
	}
	return picked, nil
}

// Read picks what the request names of an object as JSON decodes it, with whole numbers as int64.
func (l LookupRequest) Read(object map[string]any) (*Found, error) {
	found, err := l.Selection().Of(object)
	if err != nil {
		return nil, fmt.Errorf("reading the %s %s: %w", l.Kind, l.ObjectName, err)
	}
	return l.Pick(found)
}
