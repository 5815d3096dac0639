// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package etcd stores the rows of a ledger in etcd, for pools shared by several servers. A commit is one transaction
// that compares the current rows with the expected ones. A server holds a lease while it works on allocations; only its
// own row depends on it: see session. Commits of other servers can be watched.
//
// A commit with a lost response is not made after its error was returned, as far as etcd was still reachable: see
// fence. The clocks of the servers are never compared.
//
// etcd keeps the history of all rows until it is compacted: run it with --auto-compaction-retention. Start reading at
// Open.
package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// ErrClosed means that the store has been closed.
var ErrClosed = errors.New("the ledger is closed")

// Options configure the connection to etcd.
type Options struct {
	// Endpoints are the URLs of the members: all https, or all http.
	Endpoints []string
	// Prefix begins the keys of all rows, so that several ledgers fit into one etcd. Default /graft.
	Prefix string
	// TLS is the configuration for https endpoints. If nil, the CAs of the system are used, without a client
	// certificate.
	TLS *tls.Config
	// Username and Password belong to a user of etcd; empty means none. The user needs to read and write keys with the
	// prefix and a slash.
	Username, Password string
	// DialTimeout bounds how long Open waits for the first answer. Default 10 seconds.
	DialTimeout time.Duration
	// Timeout bounds each call. Default 5 seconds, which is longer than the members take to elect a leader.
	Timeout time.Duration
	// Lease is the time after which other servers take over the work of a dead server. 0 is for programs without such
	// work.
	Lease time.Duration
	// Report is called with the error that ended a watch before it is restarted; it may be nil.
	Report func(error)
}

// Store keeps the rows of a ledger under a prefix in etcd. It is safe for concurrent use.
type Store struct {
	client  *clientv3.Client
	options Options
	// rows begins the keys of the rows.
	rows  string
	fence fence
	// session is the lease of this process.
	session session

	// mutex guards closed; calls counts the calls in progress.
	mutex  sync.Mutex
	closed bool
	calls  sync.WaitGroup
	// life ends when the store is closed, and with it the background work.
	life context.Context
	end  context.CancelFunc
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
	if err := errors.Join(s.waitForAnswer(ctx), s.session.open(ctx)); err != nil {
		s.end()
		_ = client.Close()
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	return s, nil
}

// complete validates the options and sets the defaults.
func (o *Options) complete() error {
	if err := o.completeEndpoints(); err != nil {
		return err
	}
	if (o.Username == "") != (o.Password == "") {
		return errors.New("a user of etcd has a name and a password")
	}
	o.Prefix = strings.TrimRight(cmp.Or(o.Prefix, "/graft"), "/")
	o.DialTimeout, o.Timeout = cmp.Or(o.DialTimeout, 10*time.Second), cmp.Or(o.Timeout, 5*time.Second)
	if o.Report == nil {
		o.Report = func(error) {}
	}
	return nil
}

func (o *Options) completeEndpoints() error {
	if len(o.Endpoints) == 0 {
		return errors.New("set an endpoint of etcd")
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
		return errors.New("certificates are set, but the endpoints of etcd are http: use https, or remove the certificates")
	case secure > 0 && o.TLS == nil:
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return nil
}

// connect creates a client. A client with a user has already authenticated with etcd.
func (o Options) connect(ctx context.Context) (*clientv3.Client, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: o.Endpoints, TLS: o.TLS, Username: o.Username, Password: o.Password, DialTimeout: o.DialTimeout,
		Context: context.WithoutCancel(ctx), Logger: zap.NewNop(),
		// A dead connection is detected after the sum of these.
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
	})
	if err != nil && !isDefinite(err) {
		return nil, o.explainUnreachable(ctx)
	}
	return client, o.convertError(err)
}

// startCall starts a call; the returned function ends it.
func (s *Store) startCall() (func(), error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	s.calls.Add(1)
	return s.calls.Done, nil
}

// Close implements ledger.Store. It fails if the connection cannot be closed.
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

// waitForAnswer waits for the first answer.
func (s *Store) waitForAnswer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.DialTimeout)
	defer cancel()
	_, err := read(ctx, s, s.fence.find)
	if err == nil || isDefinite(err) {
		return s.options.convertError(err)
	}
	return s.options.explainUnreachable(ctx)
}

// Server implements ledger.Leaser.
func (s *Store) Server() string {
	s.session.mutex.Lock()
	defer s.session.mutex.Unlock()
	return s.session.server
}

// Lease implements ledger.Leaser. For a store opened without a lease, no other server takes over.
func (s *Store) Lease() time.Duration {
	if s.session.duration == 0 {
		return 24 * time.Hour
	}
	return s.session.remaining()
}
