// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"sync"
	"testing"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// shared is one server's access to common rows. Changes of other servers are reported late: never, in these tests.
type shared struct {
	*rows
	// read is called once, if set, after a row was read and before the reader uses it.
	read func()
	// reads are how many there were.
	reads int
}

func (s *shared) CommitAt(ctx context.Context, changes ...ledger.Change) (int64, error) {
	return 1, s.Commit(ctx, changes...)
}

func (s *shared) Watch(ctx context.Context, _ ledger.Observer) error {
	<-ctx.Done()
	return ctx.Err()
}

func (s *shared) Get(ctx context.Context, key string) ([]byte, error) {
	raw, err := s.rows.Get(ctx, key)
	s.mutex.Lock()
	s.reads++
	s.mutex.Unlock()
	if read := s.read; read != nil {
		s.read = nil
		read()
	}
	return raw, err
}

func (s *shared) count() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.reads
}

// way is one server's connection to a shared cloud.
type way struct {
	*fakeCloud
	// arrives is called before the cloud has a call, and answered when it has done it, before the answer arrives; nil: nothing happens on the way.
	arrives, answered func(call string) error
}

func (w *way) take(call string, do func() error) error {
	if w.arrives != nil {
		if err := w.arrives(call); err != nil {
			return err
		}
	}
	if err := do(); err != nil || w.answered == nil {
		return err
	}
	return w.answered(call)
}

func (w *way) Bind(ctx context.Context, a network.Allocation) (b network.Binding, err error) {
	err = w.take("bind", func() error { b, err = w.fakeCloud.Bind(ctx, a); return err })
	return b, err
}

func (w *way) Unbind(ctx context.Context, a network.Allocation) error {
	return w.take("unbind", func() error { return w.fakeCloud.Unbind(ctx, a) })
}

// server is one of several.
type server struct {
	*service.Service
	ledger *ledger.Ledger
	store  *shared
	way    *way
}

// again puts another service in the place of the server's, as after a restart.
func (s *server) again(o service.Options, pools map[string]service.Pool) {
	o.Clock = clock.RealClock{}
	s.Service = service.New(s.ledger, pools, o)
}

// servers are two servers with one store and one cloud, and the pools cloudy (one address) and plain; in a bubble.
func servers(t *testing.T) (one, two *server) {
	t.Helper()
	common, cloud := &rows{rows: map[string][]byte{}}, newFake()
	open := func() *server {
		s := &server{store: &shared{rows: common}, way: &way{fakeCloud: cloud}}
		book, err := ledger.Open(t.Context(), s.store, ledger.Pool{Name: "cloudy"}, ledger.Pool{Name: "plain"})
		if err != nil {
			t.Fatal(err)
		}
		s.ledger = book
		s.again(service.Options{}, map[string]service.Pool{"cloudy": {Cloud: s.way}, "plain": {}})
		return s
	}
	return open(), open()
}

// run runs the background work until the end is called, which waits for it.
func (s *server) run(t *testing.T) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { s.Run(ctx) })
	return func() { cancel(); group.Wait() }
}

func (s *server) allocate(t *testing.T, r service.Request) {
	t.Helper()
	if _, err := s.Allocate(t.Context(), r); err != nil {
		t.Errorf("allocating for %s: %v", r.Owner, err)
	}
}

// holds checks that the ledger and the cloud have the allocation of an owner.
func (s *server) holds(t *testing.T, r service.Request) {
	t.Helper()
	a, err := s.Get(t.Context(), r.Owner)
	s.way.mutex.Lock()
	defer s.way.mutex.Unlock()
	if has := s.way.has[r.Owner.Key]; err != nil || a.State != network.Bound || !has {
		t.Errorf("%s got the address: want it bound in ledger and cloud, got %s (%v) and %v", r.Owner, a.State, err, has)
	}
}

// once blocks the first call of a name until goOn is closed; its result is the error of that call.
func once(name string, failure error) (on func(call string) error, goOn chan struct{}) {
	goOn = make(chan struct{})
	var first sync.Once
	return func(call string) (err error) {
		if call == name {
			first.Do(func() { <-goOn; err = failure })
		}
		return err
	}, goOn
}
