// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// pause is the time before an interrupted watch is restarted, so that a broken member gets two requests per second.
const pause = 500 * time.Millisecond

// watch is a watch that continues where it was interrupted.
type watch struct {
	store *Store
	to    ledger.Observer
	// next is the revision at which the watch continues; 0 means that the observer must start again.
	next int64
}

// Watch implements ledger.Watcher. It fails with the error of ctx, or with ErrClosed.
func (s *Store) Watch(ctx context.Context, to ledger.Observer) error {
	leave, err := s.startCall()
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(ErrClosed) })()
	w := &watch{store: s, to: to}
	for {
		err := w.run(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, rpctypes.ErrCompacted):
			w.next = 0
		}
		s.options.Report(fmt.Errorf("watching the ledger failed and starts again: %w", s.options.convertError(err)))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// run watches until an error ends it, and returns that error.
func (w *watch) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if w.next == 0 {
		if err := w.begin(ctx); err != nil {
			return err
		}
	}
	// A member that has lost its leader sends no changes and no error.
	answers := w.store.client.Watch(clientv3.WithRequireLeader(ctx), w.store.rows, clientv3.WithPrefix(), clientv3.WithRev(w.next), clientv3.WithProgressNotify())
	for answer := range answers {
		if err := answer.Err(); err != nil {
			return err
		}
		for _, event := range answer.Events {
			w.notify(event)
		}
		if answer.IsProgressNotify() {
			w.next = max(w.next, answer.Header.Revision+1)
		}
	}
	return errors.New("the watch has ended")
}

// begin makes the observer read the current rows.
func (w *watch) begin(ctx context.Context) error {
	answer, err := w.store.get(ctx, w.store.fence.key) // any row tells the revision
	if err != nil {
		return err
	}
	revision := answer.Header.Revision
	err = w.to.Begin(revision, func(each func(key string, value []byte) error) error {
		return w.store.scan(ctx, "", revision, func(key, value []byte) error { return each(string(key), value) })
	})
	if err == nil {
		w.next = revision + 1
	}
	return err
}

func (w *watch) notify(event *clientv3.Event) {
	var value []byte
	if event.Type == clientv3.EventTypePut {
		value = append([]byte{}, event.Kv.Value...)
	}
	w.to.Change(event.Kv.ModRevision, string(event.Kv.Key[len(w.store.rows):]), value)
	// If the watch is interrupted before the other rows of the commit, they are reported twice, which is harmless.
	w.next = event.Kv.ModRevision
}
