// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"container/heap"
	"context"
	"math"
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
	// gate is where too many waited when it was its turn; found says that it was found in the ledger, and has not been attempted since.
	gate  *Gate
	found bool
	due   time.Time
}

// dispensable says how soon one is left to the ledger where there is no more room; 0: never. What a gate has kept from its turn goes first, as its cloud has
// many in memory all the same, then what was found in the ledger and will be found again, then what was attempted most often.
func (e entry) dispensable() int {
	switch {
	case e.gate != nil:
		return math.MaxInt
	case e.found:
		return math.MaxInt - 1
	default:
		return e.attempt
	}
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
func (q *queue) add(owner network.Owner) { q.enter(entry{owner: owner, due: q.clock.Now()}) }

// addFound is add of one that was found in the ledger, after a pause.
func (q *queue) addFound(owner network.Owner, pause time.Duration) {
	q.enter(entry{owner: owner, found: true, due: q.clock.Now().Add(pause)})
}

func (q *queue) enter(e entry) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if _, known := q.known[e.owner]; known {
		q.known[e.owner] = true
		return
	}
	if len(q.known) >= maximumQueued {
		if q.more = true; !q.displace(e.found) {
			return
		}
	}
	q.push(e)
}

// displace leaves the most dispensable one to the ledger; false when there is none, or, for one that was found there, none but such.
func (q *queue) displace(found bool) bool {
	most, at := 0, -1
	for i, e := range q.waiting {
		if of := e.dispensable(); of > most && (!found || !e.found || e.gate != nil) {
			if most, at = of, i; of == math.MaxInt {
				break
			}
		}
	}
	if at < 0 {
		return false
	}
	delete(q.known, q.waiting[at].owner)
	heap.Remove(&q.waiting, at)
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
func (q *queue) put(e entry, pause time.Duration) { q.keep(e, nil, pause) }

// keep is put of what a gate has kept from its turn; when it was added again, it may be another release, and of another cloud.
func (q *queue) keep(e entry, from *Gate, pause time.Duration) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.known[e.owner] {
		from = nil
	}
	e.gate, e.found, e.due = from, false, q.clock.Now().Add(pause)
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
