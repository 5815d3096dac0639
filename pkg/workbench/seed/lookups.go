// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// lookups is the Source of one control plane. It reads an object when a rule uses it, once for each requested part, and
// keeps only the requested parts.
type lookups struct {
	seed  *Seed
	facts *facts.Facts

	lock  sync.Mutex
	known map[string]*answer
}

// answer is the result of one request. One caller at a time reads it until it is available.
type answer struct {
	lock  sync.Mutex
	there bool
	found *facts.Found
	err   error
}

// once reads a missing answer. If it failed because the caller gave up or timed out, the next caller reads it again.
func (a *answer) once(ctx context.Context, read func(context.Context) (*facts.Found, error)) (*facts.Found, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.there {
		return a.found, a.err
	}
	found, err := read(ctx)
	if err != nil && (ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil, err
	}
	a.there, a.found, a.err = true, found, err
	return found, err
}

var _ facts.Source = (*lookups)(nil)

// Read implements facts.Source.
func (l *lookups) Read(context.Context, string) (*facts.Facts, error) { return l.facts, nil }

// Lookup implements facts.Source.
func (l *lookups) Lookup(ctx context.Context, namespace string, request facts.LookupRequest) (*facts.Found, error) {
	key, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("reading the %s %s: %w", request.Kind, request.ObjectName, err)
	}
	l.lock.Lock()
	if l.known == nil {
		l.known = map[string]*answer{}
	}
	one := l.known[string(key)]
	if one == nil {
		one = &answer{}
		l.known[string(key)] = one
	}
	l.lock.Unlock()
	return one.once(ctx, func(ctx context.Context) (*facts.Found, error) { return l.read(ctx, namespace, request) })
}

func (l *lookups) read(ctx context.Context, namespace string, request facts.LookupRequest) (*facts.Found, error) {
	of := resource{GroupVersion: request.GroupVersion(), plural: request.Resource, namespace: request.In(namespace)}
	if request.Scope == facts.ScopeUnknown {
		namespaced, err := l.seed.kinds.namespaced(ctx, l.seed, of)
		if err != nil {
			return nil, fmt.Errorf("reading the %s %s: %w: %w", request.Kind, request.ObjectName, facts.ErrUnavailable, err)
		}
		if !namespaced {
			of.namespace = ""
		}
	}
	raw, err := l.seed.get(ctx, of, request.ObjectName)
	if apierrors.IsNotFound(err) {
		return nil, request.Missing()
	} else if err != nil {
		return nil, fmt.Errorf("reading the %s %s: %w: %w", request.Kind, request.ObjectName, facts.ErrUnavailable, err)
	}
	var object map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &object); err != nil {
		return nil, fmt.Errorf("reading the %s %s: %w", request.Kind, request.ObjectName, facts.ErrUndecodable)
	}
	return request.Read(object)
}

// kinds know which kinds live in namespaces, as the API server says.
type kinds struct {
	lock  sync.Mutex
	known map[schema.GroupVersion]map[string]bool
}

// namespaced reports whether the kind is namespaced. It returns true for an unknown kind.
func (k *kinds) namespaced(ctx context.Context, s *Seed, of resource) (bool, error) {
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.known[of.GroupVersion] == nil {
		plurals, err := s.discover(ctx, of.GroupVersion)
		if err != nil {
			return false, err
		}
		if k.known == nil {
			k.known = map[schema.GroupVersion]map[string]bool{}
		}
		k.known[of.GroupVersion] = plurals
	}
	namespaced, ok := k.known[of.GroupVersion][of.plural]
	return namespaced || !ok, nil
}

// discover asks which kinds there are, and whether they live in namespaces.
func (s *Seed) discover(ctx context.Context, of schema.GroupVersion) (map[string]bool, error) {
	path := "/apis/" + of.String()
	if of.Group == "" {
		path = "/api/" + of.Version
	}
	raw, err := s.do(ctx, http.MethodGet, path, nil, "", nil)
	if apierrors.IsNotFound(err) {
		return map[string]bool{}, nil
	} else if err != nil {
		return nil, err
	}
	var list struct {
		Resources []struct {
			Name       string `json:"name"`
			Namespaced bool   `json:"namespaced"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("reading the kinds of %s: %w", of, err)
	}
	plurals := map[string]bool{}
	for _, r := range list.Resources {
		plurals[r.Name] = r.Namespaced
	}
	return plurals, nil
}
