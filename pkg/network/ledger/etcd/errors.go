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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// ErrUnreachable means that no endpoint of etcd has answered.
var ErrUnreachable = errors.New("no endpoint of etcd answers")

// ErrFull means that etcd has used up its quota (--quota-backend-bytes): it accepts releases, but no new rows.
var ErrFull = errors.New("etcd has used up its quota of space: compact and defragment it or raise --quota-backend-bytes, and then disarm its alarm")

// ErrRefused means that etcd rejects the user, or its access to these keys.
var ErrRefused = errors.New("etcd rejects the user or its permissions")

// refusals lists the errors with which etcd denies access.
var refusals = []error{
	rpctypes.ErrAuthFailed, rpctypes.ErrPermissionDenied, rpctypes.ErrUserEmpty, rpctypes.ErrInvalidAuthToken, rpctypes.ErrInvalidAuthMgmt,
	rpctypes.ErrAuthOldRevision, rpctypes.ErrUserNotFound, rpctypes.ErrRoleNotFound,
}

// convertError converts an error of etcd to one of the ledger.
func (o Options) convertError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rpctypes.ErrNoSpace):
		return ErrFull
	case errors.Is(err, rpctypes.ErrTooManyOps):
		return fmt.Errorf("%w: etcd runs with a lower --max-txn-ops than %d", ledger.ErrTooLarge, maximumOperations)
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return fmt.Errorf("%w: etcd runs with a lower --max-request-bytes", ledger.ErrTooLarge)
	case isAny(err, refusals):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case isTimeout(err):
		return fmt.Errorf("etcd (%s) did not answer in time: %w", strings.Join(o.Endpoints, ", "), context.DeadlineExceeded)
	}
	return fmt.Errorf("etcd: %w", err)
}

// isTimeout reports whether an error is a timeout.
func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded
}

// isDefinite reports whether the error means that a commit had no effect and will have none.
func isDefinite(err error) bool {
	return isAny(err, refusals) || isAny(err, []error{
		rpctypes.ErrNoSpace, rpctypes.ErrTooManyOps, rpctypes.ErrRequestTooLarge, rpctypes.ErrTooManyRequests, rpctypes.ErrDuplicateKey, rpctypes.ErrEmptyKey,
	})
}

func isAny(err error, of []error) bool {
	for _, one := range of {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
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
	reasons := make([]string, len(o.Endpoints))
	var group sync.WaitGroup
	for i, endpoint := range o.Endpoints {
		group.Go(func() {
			reason := "it answers, but has no leader"
			if err := memberStatus(ctx, client, endpoint); err != nil {
				reason = rpctypes.ErrorDesc(err)
				if alert := o.tlsAlert(ctx, endpoint); alert != nil {
					reason = alert.Error()
				}
			}
			reasons[i] = endpoint + ": " + reason
		})
	}
	group.Wait()
	return fmt.Errorf("%w: %s", ErrUnreachable, strings.Join(reasons, "; "))
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

// memberStatus reads the status of one member, without a user and without the other members. The client's own call
// would only report a timeout.
func memberStatus(ctx context.Context, client *clientv3.Client, endpoint string) error {
	connection, err := client.Dial(endpoint)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	_, err = etcdserverpb.NewMaintenanceClient(connection).Status(ctx, &etcdserverpb.StatusRequest{})
	return err
}
