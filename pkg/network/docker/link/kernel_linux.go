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
	// patience is how many timeouts an operation waits for its turn.
	patience = 2
	// conns is how many operations talk to the kernel at a time. The kernel makes links one after the other, but waits for removed ones beside that.
	conns = 16
)

// Kernel makes links in the network namespace in which it was opened. It may be used by many at a time.
type Kernel struct {
	timeout time.Duration
	place   place
	conns   chan *conn
	locks   *locks
	kinds   kinds
	busy    busy
}

// Open opens lines to the kernel, for the network namespace of the calling thread.
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

// Close closes the lines that are idle. Whoever still waits for the kernel gets an error.
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

// run does something with a line to the kernel while nobody else does anything with the same keys. It comes back when the context ends or the
// timeout is over, though a call may still hang in the kernel: that keeps its line and its keys until it ends, and begins nothing more. Waiting for
// its turn has a time of its own, so that many at a time are not too late.
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

// turn waits until nobody else does anything with the same keys, and for a line.
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
