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
