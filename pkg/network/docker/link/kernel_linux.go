// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

const (
	defaultTimeout = 5 * time.Second
	// patience is the number of timeouts for which an operation waits for its turn.
	patience = 2
	// conns limits concurrent operations. The kernel creates links one after the other, but waits for removed
	// ones concurrently.
	conns = 16
)

// Kernel manages links in the network namespace where it was opened. It is safe for concurrent use.
type Kernel struct {
	timeout time.Duration
	place   place
	conns   chan *conn
	locks   *locks
	kinds   kinds
	busy    busy
}

// Open opens connections for the network namespace of the calling thread.
func Open(o Options) (*Kernel, error) {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	at, err := thisPlace()
	if err != nil {
		return nil, err
	}
	k := &Kernel{timeout: o.Timeout, place: at, conns: make(chan *conn, conns), locks: newLocks()}
	for range conns {
		c, err := dial(o.Timeout, at)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening a netlink socket: %w", err), k.Close())
		}
		c.busy = &k.busy
		k.conns <- c
	}
	return k, nil
}

// Close closes idle connections. Operations in progress fail.
func (k *Kernel) Close() error {
	for {
		select {
		case c := <-k.conns:
			c.close()
		default:
			k.place.close()
			return nil
		}
	}
}

// run executes f with a connection, exclusively for the keys. It returns when the context or the timeout ends,
// although f may still be blocked in the kernel: then f keeps its connection and keys until it returns, and
// starts no further call. Waiting for a turn has a separate time limit, so that many concurrent operations
// succeed.
func run[T any](ctx context.Context, k *Kernel, what string, keys []string, f func(context.Context, *conn) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	c, unlock, err := k.turn(ctx, keys)
	if err != nil {
		return none, fmt.Errorf("%s: %w", what, err)
	}
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("%w: reading what the kernel says: %v", network.ErrUnavailable, p)
			}
			k.conns <- c
			unlock()
			done <- r
		}()
		r.value, r.err = f(ctx, c)
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return r.value, fmt.Errorf("%s: %w", what, r.err)
		}
		return r.value, nil
	case <-ctx.Done():
		return none, fmt.Errorf("%s: %w", what, late("waiting for the kernel", ctx.Err()))
	}
}

// turn waits for the keys and for a connection.
func (k *Kernel) turn(ctx context.Context, keys []string) (*conn, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, patience*k.timeout)
	defer cancel()
	unlock, err := k.locks.lock(ctx, keys)
	if err != nil {
		return nil, nil, late("waiting for the same links", err)
	}
	select {
	case c := <-k.conns:
		return c, unlock, nil
	case <-ctx.Done():
		unlock()
		return nil, nil, late("waiting for calls that the kernel does not answer", ctx.Err())
	}
}

// do is run without a result.
func (k *Kernel) do(ctx context.Context, what string, keys []string, f func(context.Context, *conn) error) error {
	_, err := run(ctx, k, what, keys, func(ctx context.Context, c *conn) (struct{}, error) { return struct{}{}, f(ctx, c) })
	return err
}

func late(what string, err error) error {
	return fmt.Errorf("%s: %w: %w", what, network.ErrUnavailable, err)
}
