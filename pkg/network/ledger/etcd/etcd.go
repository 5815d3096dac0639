// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package etcd keeps the rows of a ledger in etcd, for pools that several servers share. A commit is one transaction that compares what
// stands with what is expected. A server that works on allocations holds a lease, on which nothing hangs but its own row: see session. What others
// commit can be watched.
//
// A commit whose answer was lost is not made later than its error is returned, as far as etcd could still be reached: see fence. Clocks of
// the servers are compared nowhere here.
//
// The history of all rows is kept by etcd until it is compacted: run it with --auto-compaction-retention. Enter at Open.
package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// ErrClosed says that the store has been closed.
var ErrClosed = errors.New("the ledger is closed")

// Options say where etcd is and how it is asked.
type Options struct {
	// Endpoints are the URLs of the members: all https, or all http.
	Endpoints []string
	// Prefix begins the keys of all rows, so that several ledgers fit into one etcd. Default /graft.
	Prefix string
	// TLS is for endpoints with https; nil: the roots of the system, without a client certificate.
	TLS *tls.Config
	// Username and Password are those of a user of etcd; empty: none. The user needs to read and write what begins with the prefix and a slash.
	Username, Password string
	// DialTimeout bounds how long Open waits for the first answer. Default 10 seconds.
	DialTimeout time.Duration
	// Timeout bounds each call. Default 5 seconds, which is longer than the members take to elect a leader.
	Timeout time.Duration
	// Lease is how long other servers wait before they take over the work of one that has died; 0 for programs that do no such work.
	Lease time.Duration
	// Report is told why the watch was broken off and begun anew; nil: nobody is.
	Report func(error)
}

// Store is a part of etcd.
type Store struct {
	client  *clientv3.Client
	options Options
	// rows begins the keys of the rows.
	rows  string
	fence fence
	// session is the lease of this process.
	session session

	// mutex guards closed; calls are those that are under way.
	mutex  sync.Mutex
	closed bool
	calls  sync.WaitGroup
	// life ends when the store is to be closed, and with it what goes on by itself.
	life context.Context
	end  context.CancelFunc
	// tending says that members that hang are looked after.
	tending atomic.Bool
}

var (
	_ ledger.Store   = (*Store)(nil)
	_ ledger.Limiter = (*Store)(nil)
	_ ledger.Watcher = (*Store)(nil)
	_ ledger.Leaser  = (*Store)(nil)
)

// Open connects, and returns when etcd has answered. The error names the endpoints, and why each did not answer.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	client, err := o.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	s := &Store{client: client, options: o, rows: o.Prefix + "/rows/"}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.fence.init(s, o.Prefix+"/fence/")
	s.session.store, s.session.duration = s, o.Lease
	if err := errors.Join(s.greet(ctx), s.session.open(ctx)); err != nil {
		s.end()
		_ = client.Close()
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	return s, nil
}

// complete checks the options and fills in what is not said.
func (o *Options) complete() error {
	if err := o.completeEndpoints(); err != nil {
		return err
	}
	if (o.Username == "") != (o.Password == "") {
		return errors.New("a user of etcd has a name and a password")
	}
	if o.Prefix == "" {
		o.Prefix = "/graft"
	}
	o.Prefix = strings.TrimRight(o.Prefix, "/")
	if o.DialTimeout == 0 {
		o.DialTimeout = 10 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	return nil
}

func (o *Options) completeEndpoints() error {
	if len(o.Endpoints) == 0 {
		return errors.New("no endpoint of etcd is given")
	}
	secure := 0
	for _, endpoint := range o.Endpoints {
		parsed, err := url.Parse(endpoint)
		if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.User != nil {
			return errors.New("an endpoint of etcd is https://host:port or http://host:port")
		}
		if parsed.Scheme == "https" {
			secure++
		}
	}
	switch {
	case secure > 0 && secure < len(o.Endpoints):
		return errors.New("the endpoints of etcd are either all https or all http")
	case secure == 0 && o.TLS != nil:
		return errors.New("there are certificates for etcd, and its endpoints are http, which uses none")
	case secure > 0 && o.TLS == nil:
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return nil
}

// connect makes a client; one with a user has asked etcd then already.
func (o Options) connect(ctx context.Context) (*clientv3.Client, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: o.Endpoints, TLS: o.TLS, Username: o.Username, Password: o.Password, DialTimeout: o.DialTimeout,
		Context: context.WithoutCancel(ctx), Logger: zap.NewNop(),
		// A connection that is dead is noticed after the sum of these.
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
	})
	if err != nil && !definite(err) {
		return nil, o.unreachable(ctx)
	}
	return client, o.explain(err)
}

// enter begins a call; what it returns ends it.
func (s *Store) enter() (func(), error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	s.calls.Add(1)
	return s.calls.Done, nil
}

// Close implements ledger.Store.
func (s *Store) Close() error {
	s.mutex.Lock()
	if s.closed {
		s.mutex.Unlock()
		return nil
	}
	s.closed = true
	s.end()
	s.mutex.Unlock()
	s.calls.Wait()
	<-s.session.done
	if err := s.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("closing the connection to etcd: %w", err)
	}
	return nil
}

// greet waits for the first answer.
func (s *Store) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.DialTimeout)
	defer cancel()
	_, err := read(ctx, s, s.fence.find)
	if err == nil || definite(err) {
		return s.options.explain(err)
	}
	return s.options.unreachable(ctx)
}

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

// Server implements ledger.Leaser.
func (s *Store) Server() string {
	s.session.mutex.Lock()
	defer s.session.mutex.Unlock()
	return s.session.server
}

// Lease implements ledger.Leaser. A store that was opened without a lease has nobody who takes over from it.
func (s *Store) Lease() time.Duration {
	if s.session.duration == 0 {
		return 24 * time.Hour
	}
	return s.session.remaining()
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

// probe is how long a member may take to answer for itself, and how often one that did not is asked again.
const probe = time.Second
