// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	// written is the name in the profile, and At its position.
	written source.Text
	At      source.Position
	// Shown is the name of the object in messages.
	Shown string
	// Scope is that of the profile that declares the lookup.
	Scope *Scope
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

// namedObject is an object that a lookup names.
type namedObject struct {
	name     source.Text
	kind     schema.GroupVersionKind
	resource string
	scope    facts.LookupScope
}

// objectsOf returns the objects that a lookup names: one if it is valid.
func objectsOf(l v1alpha1.Lookup) []namedObject {
	named := slices.DeleteFunc([]namedObject{
		{l.Secret, facts.Secret, "secrets", facts.ScopeNamespaced},
		{l.ConfigMap, facts.ConfigMap, "configmaps", facts.ScopeNamespaced},
		{l.Infrastructure, facts.Infrastructure, "infrastructures", facts.ScopeNamespaced},
		{l.BackupBucket, facts.BackupBucket, "backupbuckets", facts.ScopeCluster},
	}, func(o namedObject) bool { return o.name.Value == "" })
	if o := l.Object; o != nil {
		kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		named = append(named, namedObject{o.Name, kind, cmp.Or(o.Resource, plural.Resource), facts.ScopeUnknown})
	}
	return named
}

// checkName rejects names that would change the path in the API, even if the kind allows them.
func checkName(name string) error {
	if name == "" {
		return fmt.Errorf("the name is empty")
	}
	if problems := path.IsValidPathSegmentName(name); len(problems) > 0 {
		return fmt.Errorf("the name is invalid: %s", strings.Join(problems, "; "))
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
func (l *Lookup) read(ctx context.Context, namespace string, variables operation.Variables, source facts.Source) (*facts.LookupResult, *LookupError) {
	request, err := l.Resolve(ctx, variables)
	if err != nil {
		return nil, &LookupError{Lookup: l, Unresolved: true, Cause: err}
	}
	var found *facts.LookupResult
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

// Subject returns the name of the lookup for messages.
func (e *LookupError) Subject() string {
	return fmt.Sprintf("profile %s: lookup %s", e.Lookup.Scope.Profile, e.Lookup.Request.Name)
}

// Error returns the message of the cause.
func (e *LookupError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *LookupError) Unwrap() error { return e.Cause }

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
