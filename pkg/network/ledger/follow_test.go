// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// telling is a store of several servers that reports commits late.
type telling struct {
	ledger.Store
	// lag limits the delay of each change, and answer that of each response. misses is the number of changes until some
	// are missed, and breaks the number of responses until one is lost; 0 means never.
	lag, answer          time.Duration
	misses               int
	breaks, calls, reads atomic.Int64

	mutex   sync.Mutex
	changed *sync.Cond
	log     []logged
	// watches has the number of log entries that each watch has delivered.
	watches map[*int]struct{}
}

type logged struct {
	revision int64
	ledger.Change
}

func newTelling(t *testing.T, lag, answer time.Duration, misses int) *telling {
	t.Helper()
	inner := memory.Open(t)
	s := &telling{Store: inner, lag: lag, answer: answer, misses: misses, watches: map[*int]struct{}{}}
	s.changed = sync.NewCond(&s.mutex)
	return s
}

func (s *telling) Commit(ctx context.Context, changes ...ledger.Change) error {
	_, err := s.CommitAt(ctx, changes...)
	return err
}

// CommitAt loses a commit before it is made, or its answer.
func (s *telling) CommitAt(ctx context.Context, changes ...ledger.Change) (int64, error) {
	lost := s.lost()
	if lost && rand.IntN(2) == 0 {
		return 0, errBroken
	}
	revision, err := s.write(ctx, changes)
	wait(s.answer)
	if lost {
		return 0, errBroken
	}
	return revision, err
}

func (s *telling) Get(ctx context.Context, key string) ([]byte, error) {
	s.reads.Add(1)
	if s.lost() {
		return nil, errBroken
	}
	return s.Store.Get(ctx, key)
}

func (s *telling) lost() bool {
	return s.breaks.Load() > 0 && s.calls.Add(1)%max(s.breaks.Load(), 1) == 0
}

func (s *telling) write(ctx context.Context, changes []ledger.Change) (int64, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err := s.Store.Commit(ctx, changes...); err != nil {
		return 0, err
	}
	revision := s.revision() + 1
	for _, change := range changes {
		s.log = append(s.log, logged{revision, change})
	}
	s.changed.Broadcast()
	return revision, nil
}

func (s *telling) revision() int64 {
	if len(s.log) == 0 {
		return 1
	}
	return s.log[len(s.log)-1].revision
}

// toldAll waits until that many watches have delivered all changes.
func (s *telling) toldAll(watches int) {
	for told := false; !told; time.Sleep(time.Millisecond) {
		s.mutex.Lock()
		told = len(s.watches) == watches
		for next := range s.watches {
			told = told && *next == len(s.log)
		}
		s.mutex.Unlock()
	}
}

func wait(most time.Duration) { time.Sleep(rand.N(max(most, 1))) }

func (s *telling) Watch(ctx context.Context, to ledger.Observer) error {
	defer context.AfterFunc(ctx, s.changed.Broadcast)()
	next, done := -1, -1
	for told := 1; ; told++ {
		s.mutex.Lock()
		s.watches[&done], done = struct{}{}, next
		for next == len(s.log) && ctx.Err() == nil {
			s.changed.Wait()
		}
		if ctx.Err() != nil {
			delete(s.watches, &done)
			s.mutex.Unlock()
			return ctx.Err()
		}
		if next < 0 || s.misses > 0 && told%s.misses == 0 {
			next = len(s.log)
			revision, rows := s.revision(), map[string][]byte{}
			err := s.Scan(ctx, "", func(key, value []byte) error { rows[string(key)] = append([]byte{}, value...); return nil })
			s.mutex.Unlock()
			wait(s.lag)
			if err == nil {
				err = to.Begin(revision, func(each func(string, []byte) error) error {
					for key, value := range rows {
						if err := each(key, value); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if err != nil {
				return err
			}
			continue
		}
		one := s.log[next]
		s.mutex.Unlock()
		wait(s.lag)
		to.Change(one.revision, one.Key, one.Value)
		next++
	}
}

// follow opens a ledger that follows until the test ends.
func follow(t *testing.T, store ledger.Store, of ...ledger.Pool) *ledger.Ledger {
	t.Helper()
	if len(of) == 0 {
		of = []ledger.Pool{pools(t)}
	}
	l, err := ledger.Open(t.Context(), store, of...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if err := l.Follow(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); group.Wait() })
	return l
}

// TestLateOwnChanges delivers a server's own changes late: it still knows the free addresses.
func TestLateOwnChanges(t *testing.T) {
	for _, lag := range []time.Duration{0, 50 * time.Microsecond, 200 * time.Microsecond, time.Millisecond} {
		t.Run(lag.String(), func(t *testing.T) {
			const size, rounds = 9, 100
			l := follow(t, newTelling(t, lag, lag, 0))
			var group sync.WaitGroup
			for caller := range size {
				group.Go(func() {
					in := intent()
					in.Owner.Key = fmt.Sprint(caller)
					in.Quotas = []ledger.Quota{{Name: "all", Limit: size}}
					for round := range rounds {
						if _, fresh, err := l.Reserve(t.Context(), in); err != nil || !fresh {
							t.Errorf("caller %d, round %d: fresh is %v, error %v", caller, round, fresh, err)
						}
						if err := l.Delete(t.Context(), in.Owner, in.Now, in.Now); err != nil {
							t.Errorf("caller %d, round %d: %v", caller, round, err)
						}
					}
				})
			}
			group.Wait()
			want := ledger.Usage{Size: size, Families: l.Usage("pool").Families}
			if diff := cmp.Diff(want, l.Usage("pool")); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

// slow is a store that answers a commit or a read only when told, and whose watch the test drives.
type slow struct {
	ledger.Store
	observer     chan ledger.Observer
	done, answer chan struct{}
	// commits and reads are the numbers of calls until one waits for its answer.
	commits, reads atomic.Int64
}

func (s *slow) CommitAt(ctx context.Context, changes ...ledger.Change) (int64, error) {
	err := s.Store.Commit(ctx, changes...)
	s.pause(&s.commits)
	return 2, err
}

func (s *slow) Get(ctx context.Context, key string) ([]byte, error) {
	value, err := s.Store.Get(ctx, key)
	if strings.HasPrefix(key, "ip/") {
		s.pause(&s.reads)
	}
	return value, err
}

func (s *slow) pause(calls *atomic.Int64) {
	if calls.Add(-1) == 0 {
		s.done <- struct{}{}
		<-s.answer
	}
}

func (s *slow) Watch(ctx context.Context, to ledger.Observer) error {
	s.observer <- to
	<-ctx.Done()
	return ctx.Err()
}

// TestRebuildDuringCommit changes a row on another server and scans the store while a commit or a read of the row waits for its answer: the
// late answer does not hide the change.
func TestRebuildDuringCommit(t *testing.T) {
	for _, late := range []string{"commit", "read"} {
		t.Run(late, func(t *testing.T) {
			inner := memory.Open(t)
			store := &slow{
				Store: inner, observer: make(chan ledger.Observer), done: make(chan struct{}), answer: make(chan struct{}),
			}
			l := follow(t, store)
			other, err := ledger.Open(t.Context(), inner, pools(t))
			if err != nil {
				t.Fatal(err)
			}
			observer := <-store.observer
			scan := func(each func(string, []byte) error) error {
				return inner.Scan(t.Context(), "", func(key, value []byte) error { return each(string(key), value) })
			}
			in := intent()
			var group sync.WaitGroup
			if late == "commit" {
				store.commits.Store(1)
				group.Go(func() {
					if _, _, err := l.Reserve(t.Context(), in); err != nil {
						t.Error(err)
					}
				})
			} else {
				if _, _, err := other.Reserve(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				store.reads.Store(2)
				in := in
				in.Owner.Key = "b"
				group.Go(func() { // chooses the same address, and reads its row twice after the conflict
					if _, _, err := l.Reserve(t.Context(), in); err != nil {
						t.Error(err)
					}
				})
			}
			<-store.done
			if err := other.Delete(t.Context(), in.Owner, in.Now, in.Now.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			if err := observer.Begin(3, scan); err != nil {
				t.Fatal(err)
			}
			close(store.answer)
			group.Wait()
			if _, err := l.Expire(t.Context(), time.Time{}); err != nil {
				t.Fatal(err)
			}
			if u := l.Usage("pool"); u.Quarantined != 1 {
				t.Errorf("%d addresses are held and %d in quarantine, 1 expected in quarantine", u.Held, u.Quarantined)
			}
		})
	}
}

// TestServersAgree delivers changes late and drops some of them while servers work on one pool: all servers agree in
// the end.
func TestServersAgree(t *testing.T) {
	for name, c := range map[string]struct {
		lag, answer    time.Duration
		misses, breaks int
	}{
		"changes are late": {lag: 2 * time.Millisecond}, "answers are late": {answer: 4 * time.Millisecond},
		"some changes are missed":                      {lag: 2 * time.Millisecond, answer: 2 * time.Millisecond, misses: 50},
		"answers are lost":                             {lag: 2 * time.Millisecond, answer: 4 * time.Millisecond, breaks: 5},
		"changes are late, missed and without answers": {lag: 2 * time.Millisecond, answer: 4 * time.Millisecond, misses: 50, breaks: 5},
	} {
		t.Run(name, func(t *testing.T) {
			store := newTelling(t, c.lag, c.answer, c.misses)
			servers := []*ledger.Ledger{follow(t, store), follow(t, store), follow(t, store)}
			store.breaks.Store(int64(c.breaks))
			var group sync.WaitGroup
			for caller := range 12 {
				group.Go(func() { disturb(t, servers[caller%len(servers)], caller) })
			}
			group.Wait()
			store.toldAll(len(servers))
			var held, quarantined uint64
			err := store.Scan(t.Context(), "ip/", func(_, value []byte) error {
				if value[0] == '~' {
					quarantined++
				} else {
					held++
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			want := ledger.Usage{
				Size: 9, Held: held, Quarantined: quarantined, Families: []ledger.FamilyUsage{{Bits: 32, Size: 9, Held: held, Quarantined: quarantined}},
			}
			counts := map[string]string{}
			if held > 0 {
				counts["all"] = fmt.Sprint(held)
			}
			if diff := cmp.Diff(counts, quotas(t, store.Store)); diff != "" {
				t.Errorf("quotas (-want +got):\n%s", diff)
			}
			for i, l := range servers {
				deadline := time.Now().Add(10 * time.Second)
				for !cmp.Equal(want, l.Usage("pool")) && time.Now().Before(deadline) {
					if _, err := l.Expire(t.Context(), time.Time{}); err != nil && !errors.Is(err, errBroken) {
						t.Error(err)
					}
					time.Sleep(10 * time.Millisecond)
				}
				if diff := cmp.Diff(want, l.Usage("pool")); diff != "" {
					t.Errorf("server %d (-rows +memory):\n%s", i, diff)
				}
			}
			store.breaks.Store(0)
			one := servers[rand.IntN(len(servers))]
			if _, err := one.Expire(t.Context(), time.Unix(2e9, 0)); err != nil || one.Taken("pool") != held {
				t.Errorf("one server alone ended the quarantine: %d taken, %d held; %v", one.Taken("pool"), held, err)
			}
		})
	}
}

// disturb makes random changes of servers and leaves some rows.
func disturb(t *testing.T, l *ledger.Ledger, caller int) {
	random := rand.New(rand.NewPCG(uint64(caller), 1))
	for round := range 80 {
		in := intent()
		in.Owner.Key = fmt.Sprint(random.IntN(8))
		in.Now = time.Unix(int64(1e9+round), int64(caller))
		in.Quotas = []ledger.Quota{{Name: "all", Limit: 100}}
		var err error
		switch random.IntN(8) {
		case 0, 1, 2:
			_, _, err = l.Reserve(t.Context(), in)
		case 3, 4:
			err = l.Delete(t.Context(), in.Owner, in.Now, in.Now)
		case 5, 6:
			err = l.Delete(t.Context(), in.Owner, in.Now, in.Now.Add(time.Second))
		case 7:
			_, err = l.Expire(t.Context(), in.Now)
		}
		if err != nil && !errors.Is(err, network.ErrExhausted) && !errors.Is(err, network.ErrTaken) && !errors.Is(err, errBroken) {
			t.Errorf("caller %d, round %d: %v", caller, round, err)
		}
	}
}
