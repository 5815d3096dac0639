// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// The weights of locks.
const (
	shared    = 1
	exclusive = 1 << 30
)

// locks are exclusive or shared locks by key. Waiting ends with the context. The order is: all networks, a
// network, an endpoint in it.
type locks struct {
	mutex sync.Mutex
	held  map[string]*lock
}

type lock struct {
	semaphore *semaphore.Weighted
	// users counts the holders and waiters.
	users int
}

// take takes a lock and returns its release function.
func (l *locks) take(ctx context.Context, key string, weight int64) (func(), error) {
	of := l.enter(key)
	if err := of.semaphore.Acquire(ctx, weight); err != nil {
		l.leave(key, of)
		return nil, fmt.Errorf("%w: something else is being done with it: %w", network.ErrUnavailable, err)
	}
	return func() {
		of.semaphore.Release(weight)
		l.leave(key, of)
	}, nil
}

func (l *locks) enter(key string) *lock {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	of := l.held[key]
	if of == nil {
		if l.held == nil {
			l.held = map[string]*lock{}
		}
		of = &lock{semaphore: semaphore.NewWeighted(exclusive)}
		l.held[key] = of
	}
	of.users++
	return of
}

func (l *locks) leave(key string, of *lock) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if of.users--; of.users == 0 {
		delete(l.held, key)
	}
}

// The keys of locks. Identifiers contain no slash.
const allNetworks = "networks"

func networkLock(id string) string { return "network/" + id }

func endpointLock(key string) string { return "endpoint/" + key }

// endpoint takes the lock of an endpoint, and shares that of its network.
func (l *locks) endpoint(ctx context.Context, network, id string) (func(), error) {
	return l.both(ctx, networkLock(network), shared, endpointLock(endpointKey(network, id)))
}

// network takes the locks of all networks and of one.
func (l *locks) network(ctx context.Context, id string) (func(), error) {
	return l.both(ctx, allNetworks, exclusive, networkLock(id))
}

// both takes a lock and an exclusive one, or none.
func (l *locks) both(ctx context.Context, outer string, weight int64, inner string) (func(), error) {
	unlockOuter, err := l.take(ctx, outer, weight)
	if err != nil {
		return nil, err
	}
	unlockInner, err := l.take(ctx, inner, exclusive)
	if err != nil {
		unlockOuter()
		return nil, err
	}
	return func() { unlockInner(); unlockOuter() }, nil
}
