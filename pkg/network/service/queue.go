// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// The time between attempts doubles from the first to the last.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// queue is what waits to be released, each owner once, those that failed after a pause.
type queue struct {
	clock clock.WithTickerAndDelayedExecution

	mutex sync.Mutex
	ready []entry
	known map[network.Owner]bool
	// signal holds a token while something is ready.
	signal chan struct{}
}

type entry struct {
	owner   network.Owner
	attempt int
}

func newQueue(c clock.WithTickerAndDelayedExecution) *queue {
	return &queue{clock: c, known: map[network.Owner]bool{}, signal: make(chan struct{}, 1)}
}

// add puts an owner at the end, unless it waits already.
func (q *queue) add(owner network.Owner) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.known[owner] {
		return
	}
	q.known[owner] = true
	q.ready = append(q.ready, entry{owner: owner})
	q.tell()
}

// again puts an owner off after an attempt that failed.
func (q *queue) again(owner network.Owner, attempt int) {
	q.mutex.Lock()
	q.known[owner] = true
	q.mutex.Unlock()
	pause := min(lastPause, firstPause<<min(attempt, 10))
	q.clock.AfterFunc(pause, func() {
		q.mutex.Lock()
		defer q.mutex.Unlock()
		q.ready = append(q.ready, entry{owner, attempt + 1})
		q.tell()
	})
}

// next waits for the first; false when the context ends.
func (q *queue) next(ctx context.Context) (owner network.Owner, attempt int, ok bool) {
	for {
		select {
		case <-ctx.Done():
			return network.Owner{}, 0, false
		case <-q.signal:
		}
		if e, ok := q.take(); ok {
			return e.owner, e.attempt, true
		}
	}
}

func (q *queue) take() (entry, bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.ready) == 0 {
		return entry{}, false
	}
	e := q.ready[0]
	q.ready = q.ready[1:]
	delete(q.known, e.owner)
	if len(q.ready) > 0 {
		q.tell()
	}
	return e, true
}

func (q *queue) tell() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}
