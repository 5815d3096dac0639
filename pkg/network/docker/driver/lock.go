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

// everyone is the weight of an exclusive lock.
const everyone = 1 << 30

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

// alone takes an exclusive lock and returns its release function.
func (l *locks) alone(ctx context.Context, key string) (func(), error) {
	return l.take(ctx, key, everyone)
}

// together takes a shared lock and returns its release function.
func (l *locks) together(ctx context.Context, key string) (func(), error) {
	return l.take(ctx, key, 1)
}

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
		of = &lock{semaphore: semaphore.NewWeighted(everyone)}
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

// forEndpoint takes the lock of an endpoint, and shares that of its network.
func (a *Driver) forEndpoint(ctx context.Context, network, id string) (func(), error) {
	shared, err := a.locks.together(ctx, networkLock(network))
	if err != nil {
		return nil, err
	}
	own, err := a.locks.alone(ctx, endpointLock(endpointKey(network, id)))
	if err != nil {
		shared()
		return nil, err
	}
	return func() { own(); shared() }, nil
}

// forNetworks takes the locks of all networks and of one.
func (a *Driver) forNetworks(ctx context.Context, network string) (func(), error) {
	all, err := a.locks.alone(ctx, allNetworks)
	if err != nil {
		return nil, err
	}
	own, err := a.locks.alone(ctx, networkLock(network))
	if err != nil {
		all()
		return nil, err
	}
	return func() { own(); all() }, nil
}
