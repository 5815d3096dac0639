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

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
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

// explainUnreachable connects to each endpoint to find out why it does not answer. The client itself would report a timeout.
func (o Options) explainUnreachable(ctx context.Context) error {
	reasons := make([]string, len(o.Endpoints))
	var group sync.WaitGroup
	for i, endpoint := range o.Endpoints {
		group.Go(func() {
			reasons[i] = endpoint + ": it accepts connections, but does not answer; it may have no leader"
			if err := o.connectTo(context.WithoutCancel(ctx), endpoint); err != nil {
				reasons[i] = endpoint + ": " + err.Error()
			}
		})
	}
	group.Wait()
	return fmt.Errorf("%w: %s", ErrUnreachable, strings.Join(reasons, "; "))
}

// connectTo connects to an endpoint and reads from it, because the alert of TLS with which it rejects a certificate arrives
// after the handshake. gRPC may have written to the closed connection before, and reports only that, or tries again until its deadline.
func (o Options) connectTo(ctx context.Context, endpoint string) error {
	address, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.DialTimeout/4)
	defer cancel()
	dial := (&net.Dialer{}).DialContext
	if o.TLS != nil {
		dial = (&tls.Dialer{Config: o.TLS}).DialContext
	}
	connection, err := dial(ctx, "tcp", address.Host)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	_ = connection.SetReadDeadline(time.Now().Add(o.DialTimeout / 4))
	_, err = connection.Read(make([]byte, 1))
	if alert := (*net.OpError)(nil); errors.As(err, &alert) && alert.Op == "remote error" {
		return alert
	}
	return nil
}
