// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"container/heap"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// patience is how long a server leaves a row that has rested to the server that let it rest; then that one may be gone.
const patience = 5 * time.Second

// rest is a row that rests until a time, and that is removed when it is due. Last is who had it; zero where that is not known.
type rest struct {
	key        string
	until, due time.Time
	last       network.Owner
}

// row is what the store says of it.
func (r rest) row() []byte { return place{owner: r.last, until: r.until}.encode() }

// same says whether the store says the same of both.
func (r rest) same(other rest) bool { return r.until.Equal(other.until) && r.last == other.last }

// resting are the rows that rest. What wakes before its time leaves its entry in the queue, which is passed over when its turn comes.
type resting struct {
	queue restQueue
	rows  map[string]rest
	// waking are the keys of rows that were taken out of the queue, and that rest until the store says otherwise.
	waking map[string]struct{}
	// awaited are closed when rows are woken no more, or are in doubt. Only those have one that somebody waits for; see await.
	awaited map[string]chan struct{}
	// addresses are how many rows are addresses, by family.
	addresses map[family]uint64
}

// add notes a row; of one that is there already as it is, the earlier due holds.
func (r *resting) add(row rest) {
	if known, ok := r.rows[row.key]; ok && known.same(row) && !row.due.Before(known.due) {
		return
	}
	if r.rows == nil {
		r.rows, r.addresses, r.waking = map[string]rest{}, map[family]uint64{}, map[string]struct{}{}
	}
	if of, is := familyOf(row.key); is && r.rows[row.key].key == "" {
		r.addresses[of]++
	}
	r.rows[row.key] = row
	r.woken(row.key)
	heap.Push(&r.queue, row)
}

// remove forgets a row; false when it does not rest.
func (r *resting) remove(key string) (rest, bool) {
	row, ok := r.rows[key]
	if ok {
		r.drop(key)
	}
	return row, ok
}

// drop forgets a row that is there.
func (r *resting) drop(key string) {
	delete(r.rows, key)
	r.woken(key)
	of, is := familyOf(key)
	if !is {
		return
	}
	if r.addresses[of]--; r.addresses[of] == 0 {
		delete(r.addresses, of)
	}
}

// at is the row of a key that rests, and is not being woken.
func (r *resting) at(key string) (row rest, rests bool) {
	if _, waking := r.waking[key]; waking {
		return rest{}, false
	}
	row, rests = r.rows[key]
	return row, rests
}

// take takes rows that are due out of the queue, the longest due first, and no more than a number. They rest until they are removed; after an
// error they must be put back.
func (r *resting) take(now time.Time, most int) []rest {
	var due []rest
	for len(r.queue) > 0 && len(due) < most && !r.queue[0].due.After(now) {
		row := heap.Pop(&r.queue).(rest)
		if _, waking := r.waking[row.key]; !waking && r.rows[row.key] == row {
			r.waking[row.key] = struct{}{}
			due = append(due, row)
		}
	}
	return due
}

// putBack lets a row that was taken out of the queue be due again, unless it rests no more, or has come to rest anew.
func (r *resting) putBack(row rest) {
	if _, waking := r.waking[row.key]; waking && r.rows[row.key] == row {
		r.woken(row.key)
		heap.Push(&r.queue, row)
	}
}

// woken notes that the row of a key is not being woken any more.
func (r *resting) woken(key string) {
	delete(r.waking, key)
	r.release(key)
}

// await gives what is closed when the row of a key is woken no more, or is in doubt; nil where it is not being woken.
func (r *resting) await(key string) <-chan struct{} {
	if _, waking := r.waking[key]; !waking {
		return nil
	}
	if r.awaited == nil {
		r.awaited = map[string]chan struct{}{}
	}
	if r.awaited[key] == nil {
		r.awaited[key] = make(chan struct{})
	}
	return r.awaited[key]
}

// release lets those go on who wait for the row of a key.
func (r *resting) release(key string) {
	if ended, awaited := r.awaited[key]; awaited {
		delete(r.awaited, key)
		close(ended)
	}
}

// restQueue is a heap by due.
type restQueue []rest

// Len implements heap.Interface.
func (q restQueue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q restQueue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }

// Swap implements heap.Interface.
func (q restQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *restQueue) Push(row any) { *q = append(*q, row.(rest)) }

// Pop implements heap.Interface.
func (q *restQueue) Pop() any {
	last := len(*q) - 1
	row := (*q)[last]
	(*q)[last], *q = rest{}, (*q)[:last]
	return row
}
