// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// The time between attempts doubles from the first to the last. It is cut by chance, down to half of it.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// maximumQueued bounds what waits in memory; what is beyond it is in the ledger only, and read from there later.
const maximumQueued = 4096

// queue is what waits to be released, each owner once, those that failed after a pause.
type queue struct {
	clock  clock.WithTickerAndDelayedExecution
	random func() float64

	mutex   sync.Mutex
	waiting entries
	// known are the owners that wait or are worked on; true: it was added again while it was worked on.
	known map[network.Owner]bool
	// more says that something was not taken in.
	more bool
	// signal holds a token when something has come.
	signal chan struct{}
}

type entry struct {
	owner   network.Owner
	attempt int
	// crowded says that too many wait for its cloud.
	crowded bool
	due     time.Time
}

// entries are a heap, the first one due on top.
type entries []entry

// Len implements heap.Interface.
func (e entries) Len() int { return len(e) }

// Less implements heap.Interface.
func (e entries) Less(i, j int) bool { return e[i].due.Before(e[j].due) }

// Swap implements heap.Interface.
func (e entries) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push implements heap.Interface.
func (e *entries) Push(x any) { *e = append(*e, x.(entry)) }

// Pop implements heap.Interface.
func (e *entries) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

func newQueue(c clock.WithTickerAndDelayedExecution, random func() float64) *queue {
	return &queue{clock: c, random: random, known: map[network.Owner]bool{}, signal: make(chan struct{}, 1)}
}

// add takes an owner in, unless it waits already.
func (q *queue) add(owner network.Owner) { q.addLater(owner, 0) }

// addLater is add, after a pause.
func (q *queue) addLater(owner network.Owner, pause time.Duration) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if _, known := q.known[owner]; known {
		q.known[owner] = true
		return
	}
	if len(q.known) >= maximumQueued {
		if q.more = true; !q.displace() {
			return
		}
	}
	q.push(entry{owner: owner, due: q.clock.Now().Add(pause)})
}

// displace leaves what was attempted most often to the ledger, as its cloud may be gone for long; false when all that waits has come just now.
func (q *queue) displace() bool {
	most := -1
	for i, e := range q.waiting {
		if (e.attempt > 0 || e.crowded) && (most < 0 || e.attempt > q.waiting[most].attempt) {
			most = i
		}
	}
	if most < 0 {
		return false
	}
	delete(q.known, q.waiting[most].owner)
	heap.Remove(&q.waiting, most)
	return true
}

func (q *queue) push(e entry) {
	q.known[e.owner] = false
	heap.Push(&q.waiting, e)
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// done says that nothing is left to be done for what next has given.
func (q *queue) done(e entry) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if added := q.known[e.owner]; added {
		q.push(entry{owner: e.owner, due: q.clock.Now()})
		return
	}
	delete(q.known, e.owner)
}

// again puts what next has given off, after an attempt that failed.
func (q *queue) again(e entry) {
	pause := min(lastPause, firstPause<<min(e.attempt, 10))
	if q.random != nil {
		pause -= time.Duration(q.random() * float64(pause) / 2)
	}
	e.attempt++
	q.put(e, pause)
}

// put brings what next has given back after a pause.
func (q *queue) put(e entry, pause time.Duration) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	e.due = q.clock.Now().Add(pause)
	q.push(e)
}

// wantsMore says whether there is room for what was not taken in, once.
func (q *queue) wantsMore() bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if !q.more || len(q.known) > maximumQueued/2 {
		return false
	}
	q.more = false
	return true
}

// lookForMore says that there may be more than was taken in.
func (q *queue) lookForMore() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.more = true
}

// next waits for the first that is due; false when the context ends.
func (q *queue) next(ctx context.Context) (entry, bool) {
	for ctx.Err() == nil {
		e, pause, some := q.take()
		if some && pause <= 0 {
			return e, true
		}
		q.sleep(ctx, pause, some)
	}
	return entry{}, false
}

// sleep lasts until something comes, and no longer than the pause when there is one.
func (q *queue) sleep(ctx context.Context, pause time.Duration, some bool) {
	var alarm <-chan time.Time
	if some {
		timer := q.clock.NewTimer(pause)
		defer timer.Stop()
		alarm = timer.C()
	}
	select {
	case <-ctx.Done():
	case <-q.signal:
	case <-alarm:
	}
}

// take is the first, when it is due, or how long it is until then; false when nothing waits.
func (q *queue) take() (entry, time.Duration, bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.waiting) == 0 {
		return entry{}, 0, false
	}
	if pause := q.waiting[0].due.Sub(q.clock.Now()); pause > 0 {
		return entry{}, pause, true
	}
	e := heap.Pop(&q.waiting).(entry)
	if len(q.waiting) > 0 {
		select {
		case q.signal <- struct{}{}:
		default:
		}
	}
	return e, 0, true
}
