// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// probe limits the answer of a member to a check, and is the interval between checks of a member that did not answer.
// etcd's default election timeout is also one second (--election-timeout).
const probe = time.Second

// avoidSilent is called after a timeout. While members do not respond to their own probes, calls go to the remaining ones:
// a hanging member keeps its connections, so that calls would still be sent to it.
func (s *Store) avoidSilent() {
	if len(s.options.Endpoints) == 1 || !s.tending.CompareAndSwap(false, true) {
		return
	}
	leave, err := s.startCall()
	if err != nil {
		return
	}
	go func() {
		defer leave()
		defer s.tending.Store(false)
		s.watchMembers()
	}()
}

// watchMembers uses those members that answer, until all do.
func (s *Store) watchMembers() {
	client, err := clientv3.New(s.options.singleMember(s.life))
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }()
	all := s.options.Endpoints
	for {
		var use []string
		for i, err := range s.options.statuses(s.life, client, probe) {
			if err == nil {
				use = append(use, all[i])
			}
		}
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

// explainUnreachable asks each endpoint by itself why it does not answer.
func (o Options) explainUnreachable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.DialTimeout/4)
	defer cancel()
	client, err := clientv3.New(o.singleMember(ctx))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer func() { _ = client.Close() }()
	reasons := o.statuses(ctx, client, o.DialTimeout/8)
	texts := make([]string, len(reasons))
	for i, reason := range reasons {
		text := "it answers, but has no leader"
		if alert := o.tlsAlert(ctx, o.Endpoints[i]); reason != nil && alert != nil {
			text = alert.Error()
		} else if reason != nil {
			text = rpctypes.ErrorDesc(reason)
		}
		texts[i] = o.Endpoints[i] + ": " + text
	}
	return fmt.Errorf("%w: %s", ErrUnreachable, strings.Join(texts, "; "))
}

// statuses asks all members at the same time for their status, without a user. It returns the errors in the order of the endpoints. The
// client's own call would only report a timeout.
func (o Options) statuses(ctx context.Context, client *clientv3.Client, limit time.Duration) []error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	errs := make([]error, len(o.Endpoints))
	var group sync.WaitGroup
	for i, endpoint := range o.Endpoints {
		group.Go(func() {
			connection, err := client.Dial(endpoint)
			if err == nil {
				_, err = etcdserverpb.NewMaintenanceClient(connection).Status(ctx, &etcdserverpb.StatusRequest{})
				_ = connection.Close()
			}
			errs[i] = err
		})
	}
	group.Wait()
	return errs
}

// tlsAlert returns the TLS alert of a member, for example because it requires another certificate, or nil. The alert
// follows the handshake, when a client that writes immediately may see only that the connection is closed.
func (o Options) tlsAlert(ctx context.Context, endpoint string) error {
	target, err := url.Parse(endpoint)
	if err != nil || o.TLS == nil {
		return err
	}
	config := o.TLS.Clone()
	config.NextProtos = []string{"h2"}
	connection, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", target.Host)
	if err == nil {
		defer func() { _ = connection.Close() }()
		_ = connection.SetReadDeadline(time.Now().Add(time.Second)) // a member reports the error at once, or never
		_, err = connection.Read(make([]byte, 1))
	}
	if alert, ok := errors.AsType[*net.OpError](err); ok && alert.Op == "remote error" {
		return alert
	}
	return nil
}

// singleMember returns the configuration of a client for single members.
func (o Options) singleMember(ctx context.Context) clientv3.Config {
	return clientv3.Config{Endpoints: o.Endpoints, TLS: o.TLS, Context: ctx, Logger: zap.NewNop()}
}
