// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/etcd"
)

func TestOptions(t *testing.T) {
	one := []string{"https://etcd:2379"}
	for want, o := range map[string]etcd.Options{
		"set an endpoint of etcd":        {},
		"an endpoint of etcd is https:":  {Endpoints: []string{"etcd:2379"}},
		"is https://host:port or":        {Endpoints: []string{"https://user:secret@etcd:2379"}},
		"either all https or all http":   {Endpoints: []string{"https://a:1", "http://b:1"}},
		"the endpoints of etcd are http": {Endpoints: []string{"http://a:1"}, TLS: &tls.Config{MinVersion: tls.VersionTLS12}},
		"has a name and a password":      {Endpoints: one, Username: "u"},
	} {
		_, err := etcd.Open(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}

// TestDelayedTransactionIsNotMade delays a transaction until its caller has received an error and has made other
// changes: the transaction must not be made later.
func TestDelayedTransactionIsNotMade(t *testing.T) {
	s := newServer(t)
	store := s.open(t)
	caller, goOn, done := newPatience(t), make(chan struct{}), make(chan struct{})
	s.set(func() { s.before, s.after = func() { close(caller.over); <-goOn }, func() { close(done) } })
	first := ledger.Change{Key: "a", Value: []byte("1")}
	if err := store.Commit(caller, first); err == nil || errors.Is(err, ledger.ErrConflict) {
		t.Errorf("got error %v, want that nothing is known", err)
	}
	s.set(func() { s.before, s.after = nil, nil })
	for _, change := range []ledger.Change{{Key: "a", Value: []byte("2")}, {Key: "a", Was: []byte("2")}} {
		if err := store.Commit(t.Context(), change); err != nil {
			t.Errorf("a later commit: %v", err)
		}
	}
	close(goOn)
	<-done
	if got, err := store.Get(t.Context(), "a"); got != nil || err != nil {
		t.Errorf("got %q and %v: the first commit was made late", got, err)
	}
	if err := store.Commit(t.Context(), first); err != nil {
		t.Errorf("the first commit, repeated: %v", err)
	}
}

// TestLostAnswer executes a transaction and drops its answer.
func TestLostAnswer(t *testing.T) {
	s := newServer(t)
	store := s.open(t)
	caller, returned := newPatience(t), make(chan struct{})
	s.set(func() { s.after = func() { close(caller.over); <-returned } })
	if err := store.Commit(caller, ledger.Change{Key: "a", Value: []byte("1")}); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), s.address) {
		t.Errorf("got error %v, want that %s did not answer in time", err, s.address)
	}
	close(returned)
	s.set(func() { s.after = nil })
	if got, err := store.Get(t.Context(), "a"); string(got) != "1" || err != nil {
		t.Errorf("got %q and %v, want what was written", got, err)
	}
	if err := store.Commit(t.Context(), ledger.Change{Key: "a", Value: []byte("2")}); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("got error %v, want %v", err, ledger.ErrConflict)
	}
}

// TestTimeout never answers a transaction: a caller without a deadline waits no longer than the store's timeout.
func TestTimeout(t *testing.T) {
	s := newServer(t)
	store, ended := s.open(t), make(chan struct{})
	defer close(ended)
	store.SetTimeout(50 * time.Millisecond) // to open it may take longer
	s.set(func() { s.before = func() { <-ended } })
	if err := store.Commit(t.Context(), ledger.Change{Key: "a", Value: []byte("1")}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want %v", err, context.DeadlineExceeded)
	}
}

// TestFenceRaisedByAnotherServer lets another server raise the same fence: affected commits are repeated.
func TestFenceRaisedByAnotherServer(t *testing.T) {
	s := newServer(t)
	store := s.open(t)
	for round := range 3 {
		s.set(func() {
			s.revision++
			for i := range 64 {
				s.put(putRequest(fmt.Sprintf("/graft/fence/%02d", i)))
			}
		})
		change := ledger.Change{Key: fmt.Sprint(round), Value: []byte("1")}
		if err := store.Commit(t.Context(), change); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		if err := store.Commit(t.Context(), change); !errors.Is(err, ledger.ErrConflict) {
			t.Errorf("round %d: got error %v, want %v", round, err, ledger.ErrConflict)
		}
	}
}

// TestFenceCannotBeRaised checks that no further commit is written after a lost answer if the fence cannot be raised.
func TestFenceCannotBeRaised(t *testing.T) {
	s := newServer(t)
	store := s.open(t)
	lose := func() {
		caller, returned := newPatience(t), make(chan struct{})
		s.set(func() { s.before = func() { close(caller.over); <-returned } })
		if err := store.Commit(caller, ledger.Change{Key: "lost", Value: []byte("1")}); err == nil {
			t.Error("no error without an answer of etcd, want one")
		}
		close(returned)
		s.set(func() { s.before = nil })
	}
	s.set(func() { s.refuse = rpctypes.ErrGRPCNoLeader })
	lose()
	change := ledger.Change{Key: "a", Value: []byte("1")}
	if err := store.Commit(t.Context(), change); err == nil || errors.Is(err, ledger.ErrConflict) {
		t.Errorf("got error %v, want that the fence cannot be raised", err)
	}
	s.set(func() { s.refuse = nil })
	if err := store.Commit(t.Context(), change); err != nil || s.fences() != 1 {
		t.Errorf("got error %v and %d fences", err, s.fences())
	}
	// Where etcd is full, the fence is removed, which changes it as well.
	s.set(func() { s.refuse = rpctypes.ErrGRPCNoSpace })
	lose()
	if err := store.Commit(t.Context(), ledger.Change{Key: "a", Was: []byte("1")}); err != nil || s.fences() != 0 {
		t.Errorf("got error %v and %d fences", err, s.fences())
	}
}

// TestClearRefusals checks errors that prove that nothing was written.
func TestClearRefusals(t *testing.T) {
	s := newServer(t)
	store := s.open(t)
	if err := store.Commit(t.Context(), make([]ledger.Change, store.Limit()+1)...); !errors.Is(err, ledger.ErrTooLarge) {
		t.Errorf("got error %v, want %v", err, ledger.ErrTooLarge)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Watch(t.Context(), nil); !errors.Is(err, etcd.ErrClosed) {
		t.Errorf("got error %v, want %v", err, etcd.ErrClosed)
	}
	if _, err := store.Get(t.Context(), "a"); !errors.Is(err, etcd.ErrClosed) {
		t.Errorf("got error %v, want %v", err, etcd.ErrClosed)
	}
}
