// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

var errBroken = errors.New("the connection broke")

// doubtful is a store that loses answers.
type doubtful struct {
	ledger.Store
	// before and after break a commit before and after it is made.
	before, after bool
}

func (d *doubtful) Commit(ctx context.Context, changes ...ledger.Change) error {
	if d.before {
		return errBroken
	}
	err := d.Store.Commit(ctx, changes...)
	if d.after && err == nil {
		return errBroken
	}
	return err
}

// TestLostAnswerOfCommit loses the answer to a commit: the memory agrees with the store afterwards.
func TestLostAnswerOfCommit(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after bool
		fails         bool
		taken         uint64
	}{
		{name: "keeps a row that was written before the error", after: true, taken: 1},
		{name: "forgets a row that was not written", before: true, fails: true, taken: 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, l := newDoubtful(t)
			store.before, store.after = c.before, c.after
			_, fresh, err := l.Reserve(t.Context(), intent())
			if failed := err != nil; failed != c.fails || fresh == failed {
				t.Errorf("got fresh %v and error %v", fresh, err)
			}
			if got := l.Taken("pool"); got != c.taken {
				t.Errorf("got %d taken, want %d", got, c.taken)
			}
			store.before, store.after = false, false
			if a, fresh, err := l.Reserve(t.Context(), intent()); err != nil || fresh == c.after || a.Addresses[0].String() == "" {
				t.Errorf("the retry: got fresh %v and error %v", fresh, err)
			}
			if got := l.Taken("pool"); got != 1 {
				t.Errorf("got %d taken after the retry, want 1", got)
			}
		})
	}
}

// TestLostAnswerWithUnreadableStore loses the answer while the store cannot be read: the address is not allocated to another owner.
func TestLostAnswerWithUnreadableStore(t *testing.T) {
	store, _ := newDoubtful(t)
	in := intent()
	in.Addresses = []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	dark := &darkness{doubtful: store}
	l, err := ledger.Open(t.Context(), dark, pools(t))
	if err != nil {
		t.Fatal(err)
	}
	dark.falls = true
	if _, _, err := l.Reserve(t.Context(), in); !errors.Is(err, errBroken) {
		t.Fatalf("got error %v, want %v", err, errBroken)
	}
	dark.falls, dark.dark = false, false
	other := in
	other.Owner.Key = "other"
	if _, _, err := l.Reserve(t.Context(), other); !errors.Is(err, network.ErrTaken) {
		t.Errorf("got error %v, want %v", err, network.ErrTaken)
	}
	if _, fresh, err := l.Reserve(t.Context(), in); err != nil || fresh {
		t.Errorf("the retry of the owner: got fresh %v and error %v", fresh, err)
	}
}

// darkness is a store that can be neither read nor written after the first commit.
type darkness struct {
	*doubtful
	falls, dark bool
}

func (d *darkness) Commit(ctx context.Context, changes ...ledger.Change) error {
	err := d.doubtful.Commit(ctx, changes...)
	if d.falls {
		d.dark = true
		return errBroken
	}
	return err
}

func (d *darkness) Get(ctx context.Context, key string) ([]byte, error) {
	if d.dark {
		return nil, errBroken
	}
	return d.Store.Get(ctx, key)
}

func newDoubtful(t *testing.T) (*doubtful, *ledger.Ledger) {
	t.Helper()
	inner := memory.Open(t)
	store := &doubtful{Store: inner}
	l, err := ledger.Open(t.Context(), store, pools(t))
	if err != nil {
		t.Fatal(err)
	}
	return store, l
}

func pools(t *testing.T) ledger.Pool {
	t.Helper()
	var b netipx.IPSetBuilder
	b.AddRange(netipx.MustParseIPRange("10.0.0.1-10.0.0.9"))
	dynamic, err := b.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Pool{Name: "pool", Subnets: []ledger.Subnet{{Prefix: netip.MustParsePrefix("10.0.0.0/24"), Dynamic: dynamic}}}
}

func intent() ledger.Intent {
	return ledger.Intent{Owner: network.Owner{Contract: "test", Key: "a"}, Pool: "pool", State: network.Intended, Now: time.Unix(1e9, 0)}
}
