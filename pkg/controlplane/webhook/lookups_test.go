// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// answering is a source with one answer for all lookups.
type answering struct {
	Source
	found *facts.Found
	err   error
}

func (a answering) Lookup(context.Context, string, facts.LookupRequest) (*facts.Found, error) {
	return a.found, a.err
}

func TestCountedSource(t *testing.T) {
	for name, test := range map[string]struct {
		source answering
		result string
	}{
		"counts an object that was found":      {answering{found: &facts.Found{}}, "found"},
		"optional and absent":                  {answering{}, "absent"},
		"counts an object that does not exist": {answering{err: fmt.Errorf("reading: %w", facts.ErrNotFound)}, "absent"},
		"the API server does not answer":       {answering{err: fmt.Errorf("reading: %w", facts.ErrUnavailable)}, "failed"},
		"an undecodable object":                {answering{err: facts.ErrUndecodable}, "failed"},
		"the context has ended":                {answering{err: context.Canceled}, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{registry: prometheus.NewRegistry()}
			found, err := NewCountedSource(f.registry, test.source).Lookup(t.Context(), "shoot--a--b", facts.LookupRequest{ObjectName: secret})
			if found != test.source.found || err != test.source.err {
				t.Errorf("the answer is %v, %v", found, err)
			}
			for _, result := range []string{"found", "absent", "failed"} {
				want := 0.0
				if result == test.result {
					want = 1
				}
				if got := f.count(t, "graft_lookups_total", map[string]string{"result": result}); got != want {
					t.Errorf("%v lookups are counted as %s, want %v", got, result, want)
				}
			}
		})
	}
}
