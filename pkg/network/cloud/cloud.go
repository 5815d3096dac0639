// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package cloud defines the interface to the cloud behind a pool. Each cloud is a package below this one; clouds use
// neither the ledger nor each other. Start reading at Cloud.
package cloud

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// Cloud makes addresses reachable outside of the machine. All methods are idempotent: they are repeated after a crash,
// after a lost response, and when an owner asks again; but never concurrently for one owner. An error wraps
// network.ErrRefused if a retry is useless, also network.ErrExhausted if the cloud selects addresses and has none left,
// and RetryAfter if the cloud limits requests. network.ErrNotSent means that this attempt sent no request, although an
// earlier one may have succeeded. After any other error, it is unknown whether the call succeeded. Every cloud passes
// the suite of package test/cloudtest.
type Cloud interface {
	// Bind makes the cloud deliver packets for the addresses of the allocation.
	Bind(ctx context.Context, a network.Allocation) (network.Binding, error)
	// Unbind reverts Bind. It succeeds if the cloud has no such binding.
	Unbind(ctx context.Context, a network.Allocation) error
}

// Lister is a Cloud that can list its bindings.
type Lister interface {
	// Orphans returns the bindings of this installation without an allocation. It reads the allocations of the ledger
	// after the bindings. With remove, it deletes bindings that an earlier call has found, so long ago that no earlier
	// Bind may still have an effect. It fails if the cloud or the ledger cannot be read.
	Orphans(ctx context.Context, allocations Allocations, remove bool) ([]Orphan, error)
}

// Describer is a Cloud that can describe the network interfaces of machines.
type Describer interface {
	// Describe returns the description of the interface with a MAC address. It is empty if the cloud has no such
	// interface. It fails if the cloud does not answer.
	Describe(ctx context.Context, mac string) (Description, error)
}

// Description is a cloud's description of a network interface. It is shared and must not be changed.
type Description struct {
	Attributes map[string]device.Attribute
	Config     device.Config
}

// Allocations calls each for all allocations of the ledger.
type Allocations func(ctx context.Context, each func(network.Allocation) error) error

// Orphan is a binding in the cloud without an allocation.
type Orphan struct {
	// ID is the identifier in the cloud.
	ID string
	// Owner was written into the binding; it is the zero Owner if it cannot be read.
	Owner     network.Owner
	Addresses []netip.Addr
	// Removed reports that the binding was deleted.
	Removed bool
}

// RetryAfter is the error of a call that a cloud refused because of too many requests. A rate limiter finds it with
// errors.As and sends no requests to the cloud for this time.
type RetryAfter struct {
	// After is the pause before the next call; at least a second, at most MaximumRetryAfter.
	After time.Duration
	// Reason is the cloud's message.
	Reason string
}

// MaximumRetryAfter limits the pause that a cloud can request: a wrong clock or value must not stop a pool for a day.
const MaximumRetryAfter = 5 * time.Minute

// NewRetryAfter returns the error with the time limited to its bounds.
func NewRetryAfter(after time.Duration, reason string) *RetryAfter {
	return &RetryAfter{After: min(MaximumRetryAfter, max(time.Second, after)), Reason: reason}
}

// Error implements error.
func (r *RetryAfter) Error() string {
	return r.Reason + "; retry in " + r.After.String()
}

// ParseRetryAfter returns the error of a response to too many requests: status 429, or 503 with the header Retry-After
// in seconds or with a date (RFC 9110, 10.2.3). It returns false for other responses.
func ParseRetryAfter(reason string, status int, header http.Header, now time.Time) (*RetryAfter, bool) {
	text, after, asked := header.Get("Retry-After"), time.Duration(0), true
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(text); err == nil {
		after = date.Sub(now)
	} else {
		asked = false
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable && asked {
		return NewRetryAfter(after, reason), true
	}
	return nil, false
}

// NewTransport returns a transport with limits for a cloud.
func NewTransport(config *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true,
		MaxIdleConns: 64, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
}

// Identity returns 32 hexadecimal digits that are the same in all attempts for one allocation, and differ when the owner
// comes again after a release. It is suitable for names in the cloud and as an idempotency key.
func Identity(a network.Allocation) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", a.Owner, a.Since.UnixNano()))
	return hex.EncodeToString(sum[:16])
}
