// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Lookup is a declared lookup. Its request is complete except for computed names.
type Lookup struct {
	Request facts.LookupRequest
	// Name and namespace are nil when they are constant.
	Name, Namespace *expression.Template
	// At is the position of the name.
	At source.Position
	// Shown is the name of the object in messages.
	Shown string
	// Profile is the profile that declares the lookup.
	Profile string
	// Skip is true if rules that use the lookup are skipped when something is missing.
	Skip bool
}

// LookupError is the error of a lookup.
type LookupError struct {
	Lookup *Lookup
	// Unresolved means that the name of the object could not be computed.
	Unresolved bool
	Cause      error
}

// errUnnamed means that the computed name of an object is empty.
var errUnnamed = fmt.Errorf("its name is empty: %w", facts.ErrNotFound)

// declarable reports whether expressions can use the lookup by name and whether it names exactly one object.
func declarable(name string, l v1alpha1.Lookup) bool {
	objects := 0
	for _, given := range []bool{
		l.Secret.Value != "", l.ConfigMap.Value != "", l.Infrastructure.Value != "", l.BackupBucket.Value != "", l.Object != nil,
	} {
		if given {
			objects++
		}
	}
	return objects == 1 && source.IsIdentifier(name)
}

func requestOf(name string, l v1alpha1.Lookup) facts.LookupRequest {
	r := facts.LookupRequest{
		Name: name, Keys: l.Keys, Fields: make(map[string]facts.Path, len(l.Paths)), Labels: l.Labels, Annotations: l.Annotations,
		Checksum: l.Checksum, Optional: l.Optional, Scope: facts.ScopeNamespaced,
	}
	switch {
	case l.Secret.Value != "":
		r.GroupVersionKind, r.Resource = facts.Secret, "secrets"
	case l.ConfigMap.Value != "":
		r.GroupVersionKind, r.Resource = facts.ConfigMap, "configmaps"
	case l.Infrastructure.Value != "":
		r.GroupVersionKind, r.Resource = facts.Infrastructure, "infrastructures"
	case l.BackupBucket.Value != "":
		r.GroupVersionKind, r.Resource, r.Scope = facts.BackupBucket, "backupbuckets", facts.ScopeCluster
	default:
		r.GroupVersionKind, r.Resource, r.Scope = schema.FromAPIVersionAndKind(l.Object.APIVersion, l.Object.Kind), l.Object.Resource, facts.ScopeUnknown
		if r.Resource == "" {
			plural, _ := meta.UnsafeGuessKindToResource(r.GroupVersionKind)
			r.Resource = plural.Resource
		}
	}
	return r
}

// objectNameOf returns the name, as written, of the object that the lookup reads.
func objectNameOf(l v1alpha1.Lookup) source.Text {
	if l.Object != nil {
		return l.Object.Name
	}
	for _, name := range []source.Text{l.Secret, l.ConfigMap, l.Infrastructure} {
		if name.Value != "" {
			return name
		}
	}
	return l.BackupBucket
}

// checkName rejects names that would change the path in the API, even if the kind allows them.
func checkName(name string) error {
	if name == "" {
		return fmt.Errorf("the name is empty")
	}
	if problems := path.IsValidPathSegmentName(name); len(problems) > 0 {
		return fmt.Errorf("the name is not possible: %s", strings.Join(problems, "; "))
	}
	return nil
}

// References returns the dotted paths that the object name needs.
func (l *Lookup) References() []string {
	var references []string
	for _, template := range []*expression.Template{l.Name, l.Namespace} {
		if template != nil {
			references = append(references, template.References()...)
		}
	}
	return references
}

// read makes the lookup for a control plane in the namespace. It returns nil if an optional object is missing.
func (l *Lookup) read(ctx context.Context, namespace string, variables operation.Variables, source facts.Source) (*facts.Found, *LookupError) {
	request, err := l.Resolve(ctx, variables)
	if err != nil {
		return nil, &LookupError{Lookup: l, Unresolved: true, Cause: err}
	}
	var found *facts.Found
	switch {
	case request.ObjectName != "":
		found, err = source.Lookup(ctx, namespace, request)
	case !request.Optional:
		err = errUnnamed
	}
	if err != nil {
		return nil, &LookupError{Lookup: l, Cause: err}
	}
	return found, nil
}

// Missing reports whether the object does not exist.
func (e *LookupError) Missing() bool { return !e.Unresolved && errors.Is(e.Cause, facts.ErrNotFound) }

// Subject returns the name of the lookup for messages.
func (e *LookupError) Subject() string {
	return fmt.Sprintf("profile %s: lookup %s", e.Lookup.Profile, e.Lookup.Request.Name)
}

// Resolve computes the name of the object. It fails if an expression fails, or its result is not a valid name.
func (l *Lookup) Resolve(ctx context.Context, variables operation.Variables) (facts.LookupRequest, error) {
	request := l.Request
	for _, part := range []struct {
		template *expression.Template
		into     *string
	}{{l.Name, &request.ObjectName}, {l.Namespace, &request.Namespace}} {
		if part.template == nil {
			continue
		}
		name, err := part.template.String(ctx, variables)
		if err != nil {
			return request, err
		}
		// An empty name means that there is no object.
		if err := checkName(name); err != nil && name != "" {
			return request, fmt.Errorf("%s: %w", l.At, err)
		}
		*part.into = name
	}
	return request, nil
}
