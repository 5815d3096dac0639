// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// TestLateWorkKeepsAllocationOfOtherServer checks that late work of one server does not affect an allocation that another server made for the
// owner.
func TestLateWorkKeepsAllocationOfOtherServer(t *testing.T) {
	r := request("cloudy", "a")
	for name, late := range map[string]func(t *testing.T, one *server) (goOn chan struct{}, do func()){
		"the first server unbinds late": func(t *testing.T, one *server) (chan struct{}, func()) {
			one.allocate(t, r)
			answered, goOn := once("unbind", nil)
			one.way.answered = answered
			if err := one.Release(t.Context(), r.Owner); err != nil {
				t.Error(err)
			}
			return goOn, func() { defer one.run(t)(); time.Sleep(time.Minute) }
		},
		"the call of the first server was not sent": func(t *testing.T, one *server) (chan struct{}, func()) {
			arrives, goOn := once("bind", fmt.Errorf("%w: no", network.ErrNotSent))
			one.way.arrives = arrives
			return goOn, func() { _, _ = one.Allocate(t.Context(), r) }
		},
		"the cloud refuses the call of the first server": func(t *testing.T, one *server) (chan struct{}, func()) {
			arrives, goOn := once("bind", errNo)
			one.way.arrives = arrives
			return goOn, func() { _, _ = one.Allocate(t.Context(), r) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, two := servers(t)
				goOn, do := late(t, one)
				var group sync.WaitGroup
				group.Go(do)
				synctest.Wait()
				two.allocate(t, r)
				close(goOn)
				group.Wait()
				two.holds(t, r)
			})
		})
	}
}

// TestBindAfterReleaseIsUndone checks that a bind after another server completed the release is undone, also after failures
// of the cloud, unless the other server allocated for the owner again.
func TestBindAfterReleaseIsUndone(t *testing.T) {
	for name, of := range map[string]struct {
		gives netip.Prefix
		again bool
	}{
		"the owner has no allocation":            {},
		"the owner has an allocation again":      {again: true},
		"an address chosen by the cloud":         {gives: netip.MustParsePrefix("10.9.0.1/24")},
		"the owner has the chosen address again": {gives: netip.MustParsePrefix("10.9.0.1/24"), again: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, two := servers(t)
				one.way.gives = of.gives
				r := request("cloudy", "a")
				arrives, goOn := once("bind", nil)
				fails, failed := 3, make(chan struct{})
				one.way.arrives = func(call string) error {
					if call == "unbind" && fails > 0 {
						if fails--; fails == 2 {
							close(failed)
						}
						return errBroken
					}
					return arrives(call)
				}
				var group sync.WaitGroup
				group.Go(func() {
					if _, err := one.Allocate(t.Context(), r); !errors.Is(err, network.ErrUnavailable) {
						t.Errorf("got error %v", err)
					}
				})
				synctest.Wait()
				defer two.run(t)()
				if err := two.Release(t.Context(), r.Owner); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute)
				close(goOn)
				<-failed
				if of.again {
					two.allocate(t, r)
				}
				group.Wait()
				if of.again {
					two.holds(t, r)
				} else if _, err := two.Get(t.Context(), r.Owner); !errors.Is(err, network.ErrNotHeld) || one.way.has["a"] {
					t.Errorf("want no allocation in ledger and cloud, got %v and %v", err, one.way.has["a"])
				}
			})
		})
	}
}

// TestClaimedWhileReleased checks that the release of one holder leaves the allocation to another holder that claims it
// at the same time.
func TestClaimedWhileReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := servers(t)
		r := request("cloudy", "a")
		r.Holder.UID = "old"
		one.allocate(t, r)
		one.store.read = func() {
			if _, err := two.Claim(t.Context(), r.Owner, func(h *network.Holder) error { h.UID = "new"; return nil }); err != nil {
				t.Error(err)
			}
		}
		if err := releaseOf(t.Context(), one.Service, r.Owner, "old"); err != nil {
			t.Error(err)
		}
		two.holds(t, r)
	})
}

// TestReleaseIsStoredWhenServiceEnds checks that the release of a departed caller is stored although the service ends before it
// begins.
func TestReleaseIsStoredWhenServiceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, _ := servers(t)
		r := request("cloudy", "a")
		answered, goOn := once("bind", nil)
		one.way.answered = answered
		end := one.run(t)
		ctx, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { _, _ = one.Allocate(ctx, r) })
		synctest.Wait()
		group.Go(func() {
			if err := one.Release(ctx, r.Owner); !errors.Is(err, context.Canceled) {
				t.Errorf("got error %v", err)
			}
		})
		synctest.Wait()
		leave()
		group.Wait()
		group.Go(end)
		synctest.Wait()
		close(goOn)
		group.Wait()
		if a, err := one.Get(t.Context(), r.Owner); err != nil || a.State != network.Releasing {
			t.Errorf("after the release: want releasing, got %s, %v", a.State, err)
		}
		if _, err := one.Allocate(t.Context(), r); !errors.Is(err, network.ErrUnavailable) {
			t.Errorf("afterwards: got error %v", err)
		}
	})
}

// TestConcurrentReleasesOfDifferentHolders checks that of concurrent releases for different holders, the matching one is executed.
func TestConcurrentReleasesOfDifferentHolders(t *testing.T) {
	w := newWorld(t)
	w.Configure(map[string]service.Pool{"plain": {}}, nil)
	r := request("plain", "a")
	r.Holder.UID = "mine"
	for range 500 {
		w.allocate(r)
		var group sync.WaitGroup
		for _, uid := range []string{"another's", "mine", "another's", "another's"} {
			group.Go(func() {
				if err := releaseOf(t.Context(), w.Service, r.Owner, uid); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if state := w.state("a"); state != "none" {
			t.Fatalf("after the release without an error: want none, got %s", state)
		}
	}
}
