// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// counting is an intent of an owner that counts for quotas of two.
func counting(key string, names ...string) ledger.Intent {
	in := intent()
	in.Owner.Key = key
	for _, name := range names {
		in.Quotas = append(in.Quotas, ledger.Quota{Name: name, Limit: 2})
	}
	return in
}

// quotas returns the rows of the pool's quotas.
func quotas(t *testing.T, store ledger.Store) map[string]string {
	t.Helper()
	counts := map[string]string{}
	err := store.Scan(t.Context(), "quota/pool/", func(key, value []byte) error {
		counts[strings.TrimPrefix(string(key), "quota/pool/")] = string(value)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

func TestQuota(t *testing.T) {
	store, l := newDoubtful(t)
	reserve := func(key string, names ...string) error {
		_, _, err := l.Reserve(t.Context(), counting(key, names...))
		return err
	}
	usage := func(want string) {
		t.Helper()
		if diff := cmp.Diff(want, fmt.Sprint(quotas(t, store))); diff != "" {
			t.Errorf("quotas (-want +got):\n%s", diff)
		}
	}
	for _, key := range []string{"a", "b", "a"} { // who asks again counts once
		if err := reserve(key, "namespace/x", "node/n"); err != nil {
			t.Fatal(err)
		}
	}
	err := reserve("c", "node/m", "namespace/x")
	if !errors.Is(err, network.ErrQuota) || !strings.Contains(err.Error(), "namespace/x may have at most 2 allocations in the pool pool") {
		t.Errorf("got error %v", err)
	}
	usage("map[namespace/x:2 node/n:2]")
	if err := reserve("c", "namespace/y", "namespace/y"); err != nil {
		t.Error(err)
	}
	usage("map[namespace/x:2 namespace/y:1 node/n:2]")
	if err := l.Delete(t.Context(), network.Owner{Contract: "test", Key: "a"}, time.Unix(1e9, 0), time.Unix(1e9+9, 0)); err != nil {
		t.Fatal(err)
	}
	usage("map[namespace/x:1 namespace/y:1 node/n:1]")

	if _, err := l.Configure(t.Context(), nil, pools(t)); err != nil {
		t.Fatal(err)
	}
	usage("map[namespace/x:1 namespace/y:1 node/n:1]")
	if l, err = ledger.Open(t.Context(), store, pools(t)); err != nil {
		t.Fatal(err)
	}
	usage("map[namespace/x:1 namespace/y:1 node/n:1]")
	families := []ledger.FamilyUsage{{Bits: 32, Size: 9, Held: 2, Quarantined: 1}}
	if diff := cmp.Diff(ledger.Usage{Size: 9, Held: 2, Quarantined: 1, Families: families}, l.Usage("pool")); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

// TestQuotaOfSeveral checks that a quota counts all owners of one request, or none if the request is refused.
func TestQuotaOfSeveral(t *testing.T) {
	store, l := newDoubtful(t)
	if _, _, err := l.ReserveAll(t.Context(), []ledger.Intent{counting("a", "x"), counting("b", "x"), counting("c", "x")}); !errors.Is(err, network.ErrQuota) {
		t.Errorf("got error %v, want %v", err, network.ErrQuota)
	}
	if got := l.Usage("pool"); got.Held != 0 || len(quotas(t, store)) != 0 {
		t.Errorf("the refused allocation counts: %+v, %v", got, quotas(t, store))
	}
}

// TestQuotaAfterLostAnswer checks that the quota is correct once the store can be read after a lost answer.
func TestQuotaAfterLostAnswer(t *testing.T) {
	for _, written := range []bool{true, false} {
		store, _ := newDoubtful(t)
		dark := &darkness{doubtful: store}
		l, err := ledger.Open(t.Context(), dark, pools(t))
		if err != nil {
			t.Fatal(err)
		}
		dark.falls, dark.before = true, !written
		if _, _, err := l.Reserve(t.Context(), counting("a", "x")); !errors.Is(err, errBroken) {
			t.Fatalf("got error %v, want %v", err, errBroken)
		}
		if got := l.Usage("pool"); got.Held != 1 {
			t.Errorf("want one allocation while the store is unreadable, got %+v", got)
		}
		dark.falls, dark.dark, dark.before = false, false, false
		if _, err := l.Expire(t.Context(), time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
		want := map[bool]uint64{true: 1}[written]
		if got, counts := l.Usage("pool"), quotas(t, store); got.Held != want || len(counts) != int(want) {
			t.Errorf("written is %v: got %+v and %v", written, got, counts)
		}
	}
}

// limited is a store that commits few rows at a time. Its second commit fails.
type limited struct {
	ledger.Store
	commits int
}

func (*limited) Limit() int { return 6 }

func (s *limited) Commit(ctx context.Context, changes ...ledger.Change) error {
	if s.commits++; s.commits == 2 {
		return errBroken
	}
	return s.Store.Commit(ctx, changes...)
}

// TestQuotaOfUndoneRequest fails the second commit of a request: the first one is undone, and counts for no quota.
func TestQuotaOfUndoneRequest(t *testing.T) {
	store, _ := newDoubtful(t)
	l, err := ledger.Open(t.Context(), &limited{Store: store}, pools(t))
	if err != nil {
		t.Fatal(err)
	}
	first, second := counting("a", "x"), counting("b", "x")
	first.Grouped, second.Grouped = true, true
	done := make(chan error, 1)
	go func() {
		_, _, err := l.ReserveAll(t.Context(), []ledger.Intent{first, second})
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, errBroken) {
			t.Errorf("got error %v, want %v", err, errBroken)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the request does not end")
	}
	if got := quotas(t, store); len(got) > 0 || l.Taken("pool") != 0 {
		t.Errorf("got %v and %d taken, want none", got, l.Taken("pool"))
	}
}
