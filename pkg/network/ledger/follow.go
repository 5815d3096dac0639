// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
)

// following is what a ledger knows of what was told of a store that several servers share.
//
// Why memory is right in the end, in whatever order things are learned: the store tells each change once, in the order of the revisions, and
// what is told is what memory says. Only the own commits are not waited for, so that an address is free at once where it was released. Such a
// commit has a revision, too. When that has been told already, memory is as new or newer, and stays as it is. When not, memory is brought in
// line with the commit, and what is told of its rows up to its revision is older than that, and is passed over; the commit itself is told at
// last. So an own release is not undone by the reservation before it, nor an own reservation by the release before it.
//
// What is chosen and not yet written is taken in memory only. It can be made free by an older release that is told meanwhile: then it may be
// chosen twice, and the store lets one of the two have it. It cannot stay taken without a row: whoever chose it makes it free, or notes
// a doubt, when it is not written; what is read then takes nothing, as it would be told.
type following struct {
	// revision is up to where changes were told.
	revision int64
	// ahead are the last own commits of rows that were not told yet, of at most maximumAhead rows.
	ahead map[string]ahead
}

// maximumAhead bounds what is remembered while a watch is broken and commits succeed: some megabytes. What is beyond it is in memory as well, but
// what is told from before it can undo it there, until it is told itself. Meanwhile a choice may be made in vain, which the store finds out.
const maximumAhead = 1 << 15

// remember notes what an own commit has made of a row that was not told yet.
func (f *following) remember(key string, own ahead) {
	if _, there := f.ahead[key]; there || len(f.ahead) < maximumAhead {
		f.ahead[key] = own
	}
}

// ahead is what an own commit has made of a row.
type ahead struct {
	revision int64
	value    []byte
}

// Follow applies to memory what other servers commit, until ctx ends; without it, what they release stays taken here. It returns at once where
// the store cannot tell; otherwise the error is one that no patience helps against, such as that of a store that is closed.
func (l *Ledger) Follow(ctx context.Context) error {
	if l.shared == nil {
		return nil
	}
	l.follows(&following{ahead: map[string]ahead{}})
	err := l.shared.Watch(ctx, &follower{l})
	l.follows(nil)
	if ctx.Err() != nil {
		err = nil // it was to end
	}
	return err
}

func (l *Ledger) follows(f *following) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.following = f
}

// follower is a ledger that is told of changes.
type follower struct{ *Ledger }

// Begin implements Observer: memory is made anew from the rows.
func (f *follower) Begin(revision int64, scan func(each func(key string, value []byte) error) error) error {
	l := f.Ledger
	l.changing.RLock() // the pools stay
	defer l.changing.RUnlock()
	fresh := &Ledger{pools: map[string]*pool{}, strays: strays{}, vlans: map[network.Trunk]*allocator.VLANs{}}
	l.mutex.Lock()
	for name, of := range l.pools {
		made, err := newPool(of.Pool)
		if err != nil {
			l.mutex.Unlock()
			return err
		}
		fresh.pools[name] = made
	}
	l.mutex.Unlock()
	if err := scan(func(key string, value []byte) error { fresh.apply(key, value, patience); return nil }); err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.replace(fresh)
	l.following.revision = revision
	for key, own := range l.following.ahead {
		if own.revision > revision {
			l.apply(key, own.value, 0)
		} else {
			delete(l.following.ahead, key)
		}
	}
	return nil
}

// replace makes memory say what another one does. Choices go on where they were, and what rests is due when it was, if that is sooner.
func (l *Ledger) replace(fresh *Ledger) {
	for name, of := range l.pools {
		for i, index := range of.indexes {
			index.Replace(fresh.pools[name].indexes[i])
		}
		of.blocked = fresh.pools[name].blocked
	}
	for trunk, vlans := range l.vlans {
		if by := fresh.vlans[trunk]; by != nil {
			vlans.Replace(by)
			fresh.vlans[trunk] = vlans
		}
	}
	for key, row := range l.resting.rows {
		if now, rests := fresh.resting.rows[key]; rests && now.same(row) {
			fresh.resting.add(row)
		}
	}
	for key := range l.resting.awaited {
		l.resting.release(key)
	}
	l.strays, l.vlans, l.resting, l.quotas, l.doubts = fresh.strays, fresh.vlans, fresh.resting, fresh.quotas, nil
	l.roused = nil
}

// Change implements Observer.
func (f *follower) Change(revision int64, key string, value []byte) error {
	l := f.Ledger
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.following.revision = revision
	if own, is := l.following.ahead[key]; is {
		if revision < own.revision {
			return nil
		}
		delete(l.following.ahead, key)
	}
	l.apply(key, value, patience)
	return nil
}

// commit writes rows, and then brings memory in line with them.
func (l *Ledger) commit(ctx context.Context, changes ...Change) (err error) {
	var revision int64
	if l.shared != nil {
		revision, err = l.shared.CommitAt(ctx, changes...)
	} else {
		err = l.store.Commit(ctx, changes...)
	}
	if err == nil {
		l.done(revision, changes)
	}
	return err
}

// done brings memory in line with an own commit, unless newer things are known already.
func (l *Ledger) done(revision int64, changes []Change) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.following != nil && revision < l.following.revision {
		return // of its own revision not all rows may have been told
	}
	for _, change := range changes {
		switch {
		case l.following != nil && revision > l.following.revision:
			l.following.remember(change.Key, ahead{revision, change.Value})
		case l.shared == nil && change.Value != nil && strings.HasPrefix(change.Key, prefixOwner):
			continue // what it counts for was noted when it was chosen
		}
		l.apply(change.Key, change.Value, 0)
	}
}

// apply brings memory in line with a row; nil: there is none. What rests is due so much later than its rest ends. A row that cannot be read is
// taken. The mutex is held.
func (l *Ledger) apply(key string, value []byte, late time.Duration) {
	delete(l.doubts, key)
	if strings.HasPrefix(key, prefixOwner) {
		_ = l.learnOwner(key, value) // one that cannot be read counts for nothing
		return
	}
	delete(l.roused, key)
	if value == nil {
		l.resting.remove(key)
		l.forget(key)
		return
	}
	l.take(key)
	if p, err := parsePlace(value); err == nil && !p.until.IsZero() {
		l.resting.add(rest{key: key, until: p.until, due: p.until.Add(late), last: p.owner})
	} else {
		l.resting.remove(key)
	}
}
