// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// listener is a source that records the values of Secrets found by lookups.
type listener struct {
	facts.Source
	heard *heard
}

// heard are values of Secrets. They are safe for use by several at the same time.
type heard struct {
	lock   sync.Mutex
	values map[string]bool
}

// listen wraps a source to record the values of Secrets found by lookups. It preserves optional interfaces.
func listen(source facts.Source, to *heard) facts.Source {
	if refresher, ok := source.(facts.Refresher); ok {
		return struct {
			listener
			facts.Refresher
		}{listener{source, to}, refresher}
	}
	return listener{source, to}
}

// Lookup implements facts.Source.
func (l listener) Lookup(ctx context.Context, namespace string, r facts.LookupRequest) (*facts.Found, error) {
	found, err := l.Source.Lookup(ctx, namespace, r)
	if err == nil && found != nil && r.IsSecret() {
		l.heard.lock.Lock()
		defer l.heard.lock.Unlock()
		for _, value := range found.Keys {
			l.heard.values[value] = true
		}
	}
	return found, err
}

// all returns the recorded values.
func (h *heard) all() map[string]bool {
	h.lock.Lock()
	defer h.lock.Unlock()
	out := make(map[string]bool, len(h.values))
	for value := range h.values {
		out[value] = true
	}
	return out
}
