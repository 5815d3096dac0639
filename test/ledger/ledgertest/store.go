// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

func testCommit(t *testing.T, open Open) {
	store := open(t)
	defer closing(t, store)
	one, two := []byte("1"), []byte("2")
	for i, c := range []struct {
		changes  []ledger.Change
		conflict bool
		want     string // all later rows
	}{
		{changes: []ledger.Change{{Key: "a", Value: one}, {Key: "b", Value: one}}, want: "a=1 b=1"},
		{changes: []ledger.Change{{Key: "a", Value: two}}, conflict: true, want: "a=1 b=1"},
		{changes: []ledger.Change{{Key: "c", Value: one}, {Key: "b", Was: two, Value: one}}, conflict: true, want: "a=1 b=1"},
		{changes: []ledger.Change{{Key: "a", Was: one, Value: two}, {Key: "b", Was: one}}, want: "a=2"},
		{changes: []ledger.Change{{Key: "b", Was: one}}, conflict: true, want: "a=2"},
		{changes: []ledger.Change{{Key: "a", Was: two, Value: two}, {Key: "b", Value: []byte{}}}, want: "a=2 b="},
		{changes: []ledger.Change{{Key: "b", Value: one}}, conflict: true, want: "a=2 b="},
	} {
		err := store.Commit(t.Context(), c.changes...)
		if errors.Is(err, ledger.ErrConflict) != c.conflict || err != nil && !c.conflict {
			t.Errorf("commit %d: got error %v, want a conflict: %v", i, err, c.conflict)
		}
		if diff := cmp.Diff(c.want, rows(t, store, "")); diff != "" {
			t.Errorf("rows after commit %d (-want +got):\n%s", i, diff)
		}
	}
	if value, err := store.Get(t.Context(), "none"); value != nil || err != nil {
		t.Errorf("a row that is not there: got %q and %v", value, err)
	}
	if value, err := store.Get(t.Context(), "b"); value == nil || len(value) != 0 || err != nil {
		t.Errorf("an empty row: got %v and %v", value, err)
	}
}

// testTwice checks that a commit with two changes of one row is rejected, for each kind of change, and with few and
// many other rows.
func testTwice(t *testing.T, open Open) {
	store := open(t)
	defer closing(t, store)
	one, two := []byte("1"), []byte("2")
	if err := store.Commit(t.Context(), ledger.Change{Key: "b", Value: one}); err != nil {
		t.Fatal(err)
	}
	var others []ledger.Change
	for i := range 50 {
		others = append(others, ledger.Change{Key: fmt.Sprint("c", i), Value: one})
	}
	for i, changes := range [][]ledger.Change{
		{{Key: "a", Value: one}, {Key: "a"}},
		{{Key: "a", Value: one}, {Key: "a", Value: two}},
		{{Key: "a", Value: one}, {Key: "a", Was: one, Value: two}},
		{{Key: "a"}, {Key: "a", Value: one}},
		{{Key: "b", Was: one}, {Key: "b", Was: one}},
		{{Key: "b", Was: one}, {Key: "a", Value: one}, {Key: "b", Value: two}},
		append(others, ledger.Change{Key: "c0"}),
	} {
		if err := store.Commit(t.Context(), changes...); !errors.Is(err, ledger.ErrDuplicateKey) {
			t.Errorf("commit %d: got error %v, want %v", i, err, ledger.ErrDuplicateKey)
		}
		if diff := cmp.Diff("b=1", rows(t, store, "")); diff != "" {
			t.Errorf("rows after commit %d (-want +got):\n%s", i, diff)
		}
	}
}

// testKept checks that the caller may overwrite values after a commit, without a change of rows or of values for later
// comparisons.
func testKept(t *testing.T, open Open) {
	store := open(t)
	defer closing(t, store)
	value := []byte("1")
	for _, c := range []struct {
		change   ledger.Change
		conflict bool
		want     string
	}{
		{ledger.Change{Key: "a", Value: value}, false, "a=1"},
		{ledger.Change{Key: "a", Was: []byte("2"), Value: []byte("9")}, true, "a=1"},
		{ledger.Change{Key: "a", Was: []byte("1"), Value: value}, false, "a=3"},
		{ledger.Change{Key: "a", Was: []byte("4"), Value: []byte("9")}, true, "a=3"},
		{ledger.Change{Key: "a", Was: []byte("3")}, false, ""},
	} {
		err := store.Commit(t.Context(), c.change)
		if errors.Is(err, ledger.ErrConflict) != c.conflict || err != nil && !c.conflict {
			t.Errorf("got error %v, want a conflict: %v", err, c.conflict)
		}
		value[0]++
		if diff := cmp.Diff(c.want, rows(t, store, "")); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
	}
}

func testScan(t *testing.T, open Open) {
	store := open(t)
	defer closing(t, store)
	var changes []ledger.Change
	for _, key := range []string{"a/2", "a/10", "a/1", "b/1", "a", "a0"} {
		changes = append(changes, ledger.Change{Key: key, Value: []byte("x")})
	}
	if err := store.Commit(t.Context(), changes...); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]string{"a/": "a/1=x a/10=x a/2=x", "b": "b/1=x", "c": "",
		"a": "a=x a/1=x a/10=x a/2=x a0=x"} {
		if diff := cmp.Diff(want, rows(t, store, prefix)); diff != "" {
			t.Errorf("rows that begin with %q (-want +got):\n%s", prefix, diff)
		}
	}
	stop := errors.New("stop")
	if err := store.Scan(t.Context(), "", func(_, _ []byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got error %v, want that of the caller", err)
	}
}

func testDurable(t *testing.T, open Open) {
	store := open(t)
	if err := store.Commit(t.Context(), ledger.Change{Key: "a", Value: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	closing(t, store)
	store = open(t)
	defer closing(t, store)
	if diff := cmp.Diff("a=1", rows(t, store, "")); diff != "" {
		t.Errorf("rows after the store was opened again (-want +got):\n%s", diff)
	}
}

// testOneWinner lets many callers write the same row concurrently: one succeeds.
func testOneWinner(t *testing.T, open Open) {
	store := open(t)
	defer closing(t, store)
	const callers, rounds = 32, 20
	for round := range rounds {
		var (
			group sync.WaitGroup
			wins  = make(chan int, callers)
		)
		for caller := range callers {
			group.Go(func() {
				value := fmt.Appendf(nil, "%d", caller)
				err := store.Commit(t.Context(),
					ledger.Change{Key: fmt.Sprintf("own/%d/%d", round, caller), Value: value},
					ledger.Change{Key: fmt.Sprintf("row/%d", round), Value: value})
				if err == nil {
					wins <- caller
				} else if !errors.Is(err, ledger.ErrConflict) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		close(wins)
		winner, ok := <-wins
		if _, more := <-wins; !ok || more {
			t.Fatalf("round %d: want exactly one winner", round)
		}
		if diff := cmp.Diff(fmt.Sprintf("own/%d/%d=%d", round, winner, winner),
			rows(t, store, fmt.Sprintf("own/%d/", round))); diff != "" {
			t.Errorf("rows of the callers of round %d (-want +got):\n%s", round, diff)
		}
	}
}

func testClosed(t *testing.T, open Open) {
	store := open(t)
	closing(t, store)
	closing(t, store)
	if err := store.Commit(t.Context(), ledger.Change{Key: "a", Value: []byte("1")}); err == nil ||
		errors.Is(err, ledger.ErrConflict) {
		t.Errorf("got error %v from a closed store", err)
	}
	if _, err := store.Get(t.Context(), "a"); err == nil {
		t.Error("a closed store was read")
	}
}
