// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// The weights of locks.
const (
	shared    = 1
	exclusive = 1 << 30
)

// claim names a lock and its weight. Identifiers in keys contain no slash.
type claim struct {
	key    string
	weight int64
}

var allNetworks = claim{"networks", exclusive}

func networkLock(id string, weight int64) claim { return claim{"network/" + id, weight} }

func endpointLock(key string) claim { return claim{"endpoint/" + key, exclusive} }

// networkLocks claims all networks and one of them.
func networkLocks(id string) []claim { return []claim{allNetworks, networkLock(id, exclusive)} }

// endpointLocks claims an endpoint, and shares its network.
func endpointLocks(network, id string) []claim {
	return []claim{networkLock(network, shared), endpointLock(endpointKey(network, id))}
}

// locks are exclusive or shared locks by key. Waiting ends with the context. The order is: all networks, a
// network, an endpoint in it.
type locks struct {
	mutex sync.Mutex
	held  map[string]*lock
}

type lock struct {
	*semaphore.Weighted
	// users counts the holders and waiters.
	users int
}

// take takes all claimed locks in their order, or none, and returns a function that releases them.
func (l *locks) take(ctx context.Context, claims ...claim) (func(), error) {
	var releases []func()
	unlock := func() {
		for _, release := range slices.Backward(releases) {
			release()
		}
	}
	for _, c := range claims {
		of := l.use(c.key, 1)
		if err := of.Acquire(ctx, c.weight); err != nil {
			l.use(c.key, -1)
			unlock()
			return nil, fmt.Errorf("%w: something else is being done with it: %w", network.ErrUnavailable, err)
		}
		releases = append(releases, func() {
			of.Release(c.weight)
			l.use(c.key, -1)
		})
	}
	return unlock, nil
}

// use changes the number of users of a lock. A lock without users is dropped.
func (l *locks) use(key string, change int) *lock {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	of := l.held[key]
	if of == nil {
		of = &lock{Weighted: semaphore.NewWeighted(exclusive)}
		l.held[key] = of
	}
	if of.users += change; of.users == 0 {
		delete(l.held, key)
	}
	return of
}
