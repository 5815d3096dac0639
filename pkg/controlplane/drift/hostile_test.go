// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// endless is an API server with lists that do not end.
type endless struct {
	*seed
	pages int
}

func (e *endless) Read(ctx context.Context, path string, query url.Values) ([]byte, error) {
	if strings.HasSuffix(path, "/configmaps") {
		e.pages++
		return []byte(`{"metadata":{"continue":"more"},"items":[]}`), nil
	}
	return e.seed.Read(ctx, path, query)
}

// TestEndlessListIsAbandoned checks that an endless list is abandoned.
func TestEndlessListIsAbandoned(t *testing.T) {
	s := newSeed(t)
	s.shoot("shoot", "")
	api := &endless{seed: s}
	f := drift.Finder{API: api, Engine: compile(t, silver)}
	summary, err := f.Find(t.Context(), func(drift.Finding) error { return nil })
	if err != nil || len(summary.Unread) != 1 || !strings.Contains(summary.Unread[0].Problem, "the list has more than 4000 pages") || api.pages != 4000 {
		t.Errorf("%d pages, %+v, %v", api.pages, summary, err)
	}
}

// undecided is an engine whose decisions take too long.
type undecided struct{ drift.Engine }

func (undecided) Admit(context.Context, mutation.Request) (*mutation.Result, error) {
	return nil, &mutation.Failure{Reason: mutation.DeadlineExceeded, Err: context.DeadlineExceeded}
}

// TestObjectWithoutDecisionIsUnknown checks that an object without a decision of the engine is unknown, and that the search continues.
func TestObjectWithoutDecisionIsUnknown(t *testing.T) {
	s := newSeed(t)
	s.shoot("shoot", "")
	s.configMap("shoot", "cloud-a", "")
	s.configMap("shoot", "cloud-b", "")
	_, summary, err := s.find(undecided{compile(t, silver)})
	if err != nil || summary.Found[drift.Unknown] != 2 {
		t.Errorf("%+v, %v", summary, err)
	}
}
