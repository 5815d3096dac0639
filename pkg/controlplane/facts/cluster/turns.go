// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"hash/maphash"
)

// turns bound how many Clusters are read at one time, and let one caller read for all that ask for the same one: admissions of a control
// plane come together, just when its Cluster has changed.
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

// take waits for the turn to read for a namespace; the caller calls what it returns when that is done.
func (t *turns) take(ctx context.Context, namespace string) (done func(), err error) {
	lane := t.lanes[maphash.String(t.seed, namespace)%uint64(len(t.lanes))]
	select {
	case lane <- struct{}{}:
		return func() { <-lane }, nil
	case <-ctx.Done():
		return nil, readError(ctx.Err())
	}
}
