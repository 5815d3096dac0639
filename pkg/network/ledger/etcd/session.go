// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// renewals is the number of attempts to renew a lease before it ends.
const renewals = 6

// session is the lease of this process. The row of the server exists as long as the lease: etcd removes it if the
// process has died or was paused for too long. A new lease with another identifier replaces a lost one.
type session struct {
	store    *Store
	duration time.Duration

	mutex   sync.Mutex
	server  string
	lease   clientv3.LeaseID
	expires time.Time
	done    chan struct{}
}

// open acquires the first lease and renews it until the store is closed. Without a duration there is none.
func (s *session) open(ctx context.Context) error {
	s.done = make(chan struct{})
	if s.duration == 0 {
		close(s.done)
		return nil
	}
	if err := s.acquire(ctx); err != nil {
		close(s.done)
		return fmt.Errorf("acquiring a lease: %w", s.store.options.convertError(err))
	}
	go s.run()
	return nil
}

// acquire takes a new lease and writes the row of the server.
func (s *session) acquire(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.store.options.Timeout)
	defer cancel()
	begun := time.Now()
	granted, err := s.store.client.Grant(ctx, int64((s.duration+time.Second-1)/time.Second))
	if err != nil {
		return err
	}
	server := rand.Text()
	if _, err := s.store.client.Put(ctx, s.store.rows+ledger.ServerKey(server), "", clientv3.WithLease(granted.ID)); err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.server, s.lease, s.expires = server, granted.ID, begun.Add(s.duration)
	return nil
}

// run renews the lease until the store is closed, and then revokes it, so that other servers take over at once.
func (s *session) run() {
	defer close(s.done)
	ticker := time.NewTicker(s.duration / renewals)
	defer ticker.Stop()
	for {
		select {
		case <-s.store.life.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(s.store.life), s.store.options.Timeout)
			_, _ = s.store.client.Revoke(ctx, s.lease) // otherwise it ends by itself
			cancel()
			return
		case <-ticker.C:
		}
		if err := s.renew(); err != nil && s.store.life.Err() == nil {
			s.store.options.Report(fmt.Errorf("renewing the lease: %w", s.store.options.convertError(err)))
		}
	}
}

// renew extends the lease, or acquires another one if it has ended.
func (s *session) renew() error {
	ctx, cancel := context.WithTimeout(s.store.life, min(s.store.options.Timeout, s.duration/2))
	defer cancel()
	begun := time.Now()
	answer, err := s.store.client.KeepAliveOnce(ctx, s.lease)
	if err == nil && answer.TTL > 0 {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.expires = begun.Add(s.duration)
		return nil
	}
	if s.remaining() > 0 {
		return err
	}
	return s.acquire(s.store.life)
}

func (s *session) remaining() time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return max(0, time.Until(s.expires))
}
