// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// probe is how long a member may take to answer for itself, and how often one that did not is asked again.
const probe = time.Second

// suspect is called when a call was not answered in time. When members do not answer for themselves, calls go to the others until they do: a
// member that hangs keeps its connections, and each call in turn would go to it.
func (s *Store) suspect() {
	if len(s.options.Endpoints) == 1 || !s.tending.CompareAndSwap(false, true) {
		return
	}
	leave, err := s.enter()
	if err != nil {
		return
	}
	go func() {
		defer leave()
		defer s.tending.Store(false)
		s.tend()
	}()
}

// tend uses those members that answer, until all do.
func (s *Store) tend() {
	client, err := clientv3.New(s.options.plain(s.life))
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }()
	all := s.options.Endpoints
	for {
		use := answering(s.life, client, all)
		if len(use) == 0 {
			use = all
		}
		if !slices.Equal(use, s.client.Endpoints()) {
			s.client.SetEndpoints(use...)
		}
		if len(use) == len(all) {
			return
		}
		select {
		case <-s.life.Done():
			return
		case <-time.After(probe):
		}
	}
}

// answering are the endpoints whose members answer for themselves.
func answering(ctx context.Context, client *clientv3.Client, endpoints []string) []string {
	ctx, cancel := context.WithTimeout(ctx, probe)
	defer cancel()
	answers := make([]bool, len(endpoints))
	var group sync.WaitGroup
	for i, endpoint := range endpoints {
		group.Go(func() { answers[i] = ask(ctx, client, endpoint) == nil })
	}
	group.Wait()
	var use []string
	for i, endpoint := range endpoints {
		if answers[i] {
			use = append(use, endpoint)
		}
	}
	return use
}
