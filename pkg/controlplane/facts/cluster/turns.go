// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"hash/maphash"
)

// turns limits concurrent reads of Clusters, and lets callers that need the same Cluster share one read: admissions of
// a control plane arrive together, just after its Cluster has changed.
type turns struct {
	seed  maphash.Seed
	lanes [16]chan struct{}
}

func newTurns() *turns {
	t := &turns{seed: maphash.MakeSeed()}
	for i := range t.lanes {
		t.lanes[i] = make(chan struct{}, 1)
	}
	return t
}

// take waits until the caller may read for a namespace. The caller must call the returned function afterwards.
func (t *turns) take(ctx context.Context, namespace string) (done func(), err error) {
	lane := t.lanes[maphash.String(t.seed, namespace)%uint64(len(t.lanes))]
	select {
	case lane <- struct{}{}:
		return func() { <-lane }, nil
	case <-ctx.Done():
		return nil, readError(ctx.Err())
	}
}
