// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// expiry is a row to remove at a time: a resource in cooldown, or a tombstone, which has a zero until.
type expiry struct {
	key        string
	row        []byte
	due, until time.Time
	// last is the previous owner of a thing in quarantine.
	last network.Owner
}

// expiring holds rows by key, and their keys by the second of their removal.
type expiring struct {
	rows    map[string]expiry
	seconds map[int64]map[string]struct{}
}

func newExpiring() expiring {
	return expiring{rows: map[string]expiry{}, seconds: map[int64]map[string]struct{}{}}
}

// second returns the first full second at which the row may be removed.
func (e expiry) second() int64 {
	second := e.due.Unix()
	if e.due.Nanosecond() > 0 {
		second++
	}
	return second
}

func (e *expiring) add(row expiry) {
	second := row.second()
	if e.seconds[second] == nil {
		e.seconds[second] = map[string]struct{}{}
	}
	e.rows[row.key], e.seconds[second][row.key] = row, struct{}{}
}

func (e *expiring) remove(key string) {
	row, known := e.rows[key]
	if !known {
		return
	}
	delete(e.rows, key)
	second := row.second()
	if delete(e.seconds[second], key); len(e.seconds[second]) == 0 {
		delete(e.seconds, second)
	}
}

// due returns rows that are due at a time. Times beyond now plus a maximum were written by a clock that was wrong, and count as that.
func (e *expiring) due(now time.Time, maximum time.Duration) []expiry {
	if maximum > 0 {
		e.limit(now.Add(maximum))
	}
	var due []expiry
	for second, keys := range e.seconds {
		if second > now.Unix() {
			continue
		}
		for key := range keys {
			due = append(due, e.rows[key])
		}
	}
	return due
}

// limit moves rows in quarantine that are due later than a time to that time.
func (e *expiring) limit(latest time.Time) {
	for second, keys := range e.seconds {
		if second <= latest.Unix()+1 {
			continue
		}
		for key := range keys {
			if row := e.rows[key]; !row.until.IsZero() {
				e.remove(key)
				row.due = latest
				e.add(row)
			}
		}
	}
}

// tombstoneLife is how long the release of an owner is remembered.
const tombstoneLife = 10 * time.Minute

func tombstoneKey(owner network.Owner) string { return prefixTombstone + owner.String() }

// tombstone returns the row that says when an owner was released.
func tombstone(released time.Time) []byte { return []byte(released.UTC().Format(time.RFC3339Nano)) }

func parseTombstone(value []byte) (time.Time, error) {
	return time.Parse(time.RFC3339Nano, string(value))
}
