// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

var errPower = errors.New("the power is gone")

// dying is a store that fails from its n-th commit on, which is made or not.
type dying struct {
	ledger.Store
	left  atomic.Int32
	after bool
}

func (d *dying) Commit(ctx context.Context, changes ...ledger.Change) error {
	left := d.left.Add(-1)
	if left < 0 {
		return errPower
	}
	if left == 0 && !d.after {
		return errPower
	}
	err := d.Store.Commit(ctx, changes...)
	if left == 0 && err == nil {
		return errPower
	}
	return err
}

func (d *dying) Get(ctx context.Context, key string) ([]byte, error) {
	if d.left.Load() <= 0 {
		return nil, errPower
	}
	return d.Store.Get(ctx, key)
}

func (d *dying) Scan(ctx context.Context, prefix string, each func(key, value []byte) error) error {
	if d.left.Load() <= 0 {
		return errPower
	}
	return d.Store.Scan(ctx, prefix, each)
}

// life is the life of a client: its requests, and the expected final answers.
var life = []struct{ do, want string }{
	{"activate", "ok"},
	{"pool local 10.65.0.0/24 pool=spare", "local/spare/10.65.0.0/24"},
	{"pool local 10.67.0.0/24 pool=cloudy", "local/cloudy/10.67.0.0/24"},
	{"gateway local/spare/10.65.0.0/24 10.65.0.1", "10.65.0.1/24"},
	{"named 10.65.0.0/24 net", "ok"},
	{"named 10.67.0.0/24 net", "ok"},
	{"address local/spare/10.65.0.0/24 10.65.0.20", "10.65.0.20/24"},
	{"address local/cloudy/10.67.0.0/24 10.67.0.20", "10.67.0.20/24"},
	{"address local/cloudy/10.67.0.0/24 10.67.0.21", "10.67.0.21/24"},
	{"free local/cloudy/10.67.0.0/24 10.67.0.20", "ok"},
	{"pool global 10.64.0.0/24 pool=overlay", "global/overlay/10.64.0.0/24"},
	{"swarm global/overlay/10.64.0.0/24 10.64.0.30", "10.64.0.30/24"},
	{"address global/overlay/10.64.0.0/24 10.64.0.30", "10.64.0.30/24"},
	{"free global/overlay/10.64.0.0/24 10.64.0.30", "ok"},
	{"free local/spare/10.65.0.0/24 10.65.0.20", "ok"},
}

// TestKilledAroundEachCommit kills this program before and after each of its commits. Then all requests are repeated, as users do after
// an error, and the networks report their addresses. No address is allocated twice or lost.
func TestKilledAroundEachCommit(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n := int32(1); ; n++ {
			store := &dying{Store: memory.Open(t), after: after}
			store.left.Store(1 << 30)
			w := newWorldOn(t, store, "n1")
			for subnet, used := range map[string][]string{"10.65.0.0/24": {"10.65.0.1"}, "10.67.0.0/24": nil} {
				w.networks[netip.MustParsePrefix(subnet)] = nil
				for _, address := range used {
					w.networks[netip.MustParsePrefix(subnet)] = append(w.networks[netip.MustParsePrefix(subnet)], netip.MustParseAddr(address))
				}
			}
			store.left.Store(n)
			died := w.live(t, store)
			store.left.Store(1 << 30)
			if t.Failed() {
				t.Fatalf("killed at commit %d, made: %v", n, after)
			}
			want := []string{"10.64.0.30 Network global/overlay/10.64.0.0/24", "10.65.0.1 Gateway local/spare/10.65.0.0/24", "10.67.0.21 Network local/cloudy/10.67.0.0/24"}
			if diff := cmp.Diff(want, w.held()); diff != "" {
				t.Fatalf("killed at commit %d, made: %v: held (-want +got):\n%s", n, after, diff)
			}
			if err := w.settle(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"10.67.0.21"}, w.cloud.bound()); diff != "" {
				t.Fatalf("killed at commit %d, made: %v: bound (-want +got):\n%s", n, after, diff)
			}
			w.even()
			if !died {
				if n < 15 {
					t.Errorf("only %d commits were made", n)
				}
				break
			}
		}
	}
}

// live runs the requests of a client, and restarts this program when its store fails.
func (w *world) live(t *testing.T, store *dying) (died bool) {
	t.Helper()
	for _, s := range life {
		got := w.do(s.do)
		if store.left.Load() <= 0 {
			died = true
			store.left.Store(1 << 30)
			if err := w.begin(); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(s.do, "gateway ") { // Docker then releases the pool, and a user creates the network again
				w.do("end local/spare/10.65.0.0/24")
				w.do("pool local 10.65.0.0/24 pool=spare")
			}
			// A manager and a worker on one node are indistinguishable in a release: Docker releases once and ignores
			// the answer.
			if !store.after || !strings.HasPrefix(s.do, "free global") {
				got = w.do(s.do)
			} else {
				got = s.want
			}
		}
		if got != s.want {
			t.Errorf("%s:\n got %s\nwant %s", s.do, got, s.want)
		}
	}
	return died
}
