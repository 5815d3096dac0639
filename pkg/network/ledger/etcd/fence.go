// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/semaphore"
)

// fence prevents a commit with a lost response from being made later, for example when its paused member continues.
// Without it, an owner could get an address after it has asked again, received another one, and released that.
//
// Each commit compares the version of one row, the fence, with the last known one. After a lost response, the fence is
// written before anything else is read or committed: pending commits then fail. Unrelated commits fail as well, and are repeated. The servers share a small
// number of fences, so that crashed servers leave none behind; two servers with the same fence repeat commits more
// often.
type fence struct {
	store *Store
	key   string
	// known is the last known revision of the fence, or 0. An older one costs a repeated commit.
	known atomic.Int64
	// lost counts lost responses, and settled those for which the fence was raised. turn is held while it is raised.
	lost, settled atomic.Int64
	turn          *semaphore.Weighted
}

// fences is the number of fences, which all servers share: a few servers seldom choose the same one.
const fences = 64

func (f *fence) init(s *Store, prefix string) {
	f.store, f.key, f.turn = s, fmt.Sprintf("%s%02d", prefix, rand.IntN(fences)), semaphore.NewWeighted(1) //nolint:gosec // which one is no secret
}

// find reads the fence.
func (f *fence) find(ctx context.Context) (*clientv3.GetResponse, error) {
	answer, err := f.store.client.Get(ctx, f.key)
	if err == nil {
		f.setRevision(answer)
	}
	return answer, err
}

// setRevision notes the revision of the fence.
func (f *fence) setRevision(answer *clientv3.GetResponse) int64 {
	revision := int64(0)
	if len(answer.Kvs) > 0 {
		revision = answer.Kvs[0].ModRevision
	}
	f.known.Store(revision)
	return revision
}

func (f *fence) expect(revision int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(f.key), "=", revision)
}

// hasChanged reports whether a transaction failed because the fence had changed.
func (f *fence) hasChanged(expected int64, answer *clientv3.TxnResponse) bool {
	return f.setRevision((*clientv3.GetResponse)(answer.Responses[0].GetResponseRange())) != expected
}

// raise records a lost response and raises the fence. If that fails, the next commit or read of this process does it first.
func (f *fence) raise(ctx context.Context) {
	f.lost.Add(1)
	_ = f.ensureRaised(context.WithoutCancel(ctx))
}

// ensureRaised raises the fence unless that was started after the last lost answer. One caller raises it for all.
func (f *fence) ensureRaised(ctx context.Context) error {
	if f.lost.Load() == f.settled.Load() {
		return nil
	}
	if err := f.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer f.turn.Release(1)
	lost := f.lost.Load()
	if lost == f.settled.Load() {
		return nil
	}
	if _, err := read(ctx, f.store, f.write); err != nil {
		return err
	}
	f.settled.Store(lost)
	return nil
}

// write increments the version of the fence. If etcd has no space for values, it deletes the fence, which also changes
// its version.
func (f *fence) write(ctx context.Context) (struct{}, error) {
	var none struct{}
	written, err := f.store.client.Put(ctx, f.key, "")
	if err == nil {
		f.known.Store(written.Header.Revision)
	}
	if !errors.Is(err, rpctypes.ErrNoSpace) {
		return none, err
	}
	if _, err = f.store.client.Delete(ctx, f.key); err == nil {
		f.known.Store(0)
	}
	return none, err
}
