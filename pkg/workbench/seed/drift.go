// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

var _ drift.API = (*Seed)(nil)

// Call implements drift.API. It is the only way to write: a drift.Call is either a read or a patch that changes
// nothing.
func (s *Seed) Call(ctx context.Context, c drift.Call) ([]byte, error) {
	media, content := c.Body()
	raw, err := s.do(ctx, c.Verb(), c.Path(), c.Query(), media, []byte(content))
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return nil, &drift.Answer{Code: int(status.ErrStatus.Code), Message: err.Error()}
	}
	return raw, err
}

// Engine decides like the webhook of a seed with the profiles of the program. It reads the facts of a control plane
// once, until Leave.
type Engine struct {
	*mutation.Program
	seed *Seed

	mutex sync.Mutex
	known map[string]*known
}

// known holds the facts of a control plane, read by one caller at a time.
type known struct {
	mutex  sync.Mutex
	source *lookups
}

// NewEngine makes an engine.
func NewEngine(s *Seed, p *mutation.Program) *Engine {
	return &Engine{Program: p, seed: s, known: map[string]*known{}}
}

// Admit implements drift.Engine.
func (e *Engine) Admit(ctx context.Context, r mutation.Request) (*mutation.Result, error) {
	return e.Program.Admit(ctx, r, (*reading)(e))
}

// Leave forgets a control plane.
func (e *Engine) Leave(namespace string) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	delete(e.known, namespace)
}

// reading is the Source of all control planes.
type reading Engine

// Read implements facts.Source.
func (r *reading) Read(ctx context.Context, namespace string) (*facts.Facts, error) {
	source, err := r.of(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return source.facts, nil
}

// Lookup implements facts.Source.
func (r *reading) Lookup(ctx context.Context, namespace string, request facts.LookupRequest) (*facts.Found, error) {
	source, err := r.of(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return source.Lookup(ctx, namespace, request)
}

// of returns the Source of one control plane.
func (r *reading) of(ctx context.Context, namespace string) (*lookups, error) {
	r.mutex.Lock()
	one := r.known[namespace]
	if one == nil {
		one = &known{}
		r.known[namespace] = one
	}
	r.mutex.Unlock()
	one.mutex.Lock()
	defer one.mutex.Unlock()
	if one.source != nil {
		return one.source, nil
	}
	read, err := r.seed.facts(ctx, namespace)
	switch {
	case errors.Is(err, ErrNoNamespace):
		return nil, fmt.Errorf("%w: %w", facts.ErrNotFound, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", facts.ErrUnavailable, err)
	}
	raw, err := r.seed.get(ctx, namespaces, namespace)
	if err != nil {
		return nil, fmt.Errorf("reading the Namespace %s: %w: %w", namespace, facts.ErrUnavailable, err)
	}
	at, err := decodeNamespace(raw)
	if err != nil {
		return nil, err
	}
	one.source = &lookups{seed: r.seed, facts: read.WithNamespace(at)}
	return one.source, nil
}
