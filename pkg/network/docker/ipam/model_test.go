// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
)

// model is a simple model of the leases.
type model struct {
	leases map[netip.Prefix]*modelLease
	// addresses are those that are held.
	addresses         map[netip.Addr]*modelAddress
	activation, terms int
}

type modelLease struct {
	activation, term int
	// lost marks leases that were not used before this program was restarted.
	used, lost bool
}

type modelAddress struct {
	// foreign addresses are another contract's.
	foreign          bool
	activation, term int
}

// modelPools are the subnets that it leases: the small one has 6 addresses.
var modelPools = map[netip.Prefix]string{netip.MustParsePrefix("10.65.0.0/24"): "spare", netip.MustParsePrefix("10.66.0.0/29"): "small"}

// TestModel runs random operations and compares each answer with the model.
func TestModel(t *testing.T) {
	for seed := range uint64(20) {
		chance := rand.New(rand.NewPCG(seed, 7))
		w := newWorld(t)
		m := &model{leases: map[netip.Prefix]*modelLease{}, addresses: map[netip.Addr]*modelAddress{}}
		var done []string
		for range 150 {
			what, err := m.step(w, chance)
			if done = append(done, what); err != nil {
				t.Fatalf("seed %d: %v\nafter %s", seed, err, strings.Join(done, "\n      "))
			}
		}
		var want, got []string
		for address := range m.addresses {
			want = append(want, address.String())
		}
		for _, held := range w.held() {
			word, _, _ := strings.Cut(held, " ")
			got = append(got, word)
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, got, emptyIsNil); diff != "" {
			t.Fatalf("seed %d: held (-want +got):\n%s", seed, diff)
		}
		w.even()
	}
}

// step executes a random operation, and returns its description and any error of the answer.
func (m *model) step(w *world, chance *rand.Rand) (string, error) {
	subnets := slices.SortedFunc(maps.Keys(modelPools), func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	subnet := subnets[chance.IntN(len(subnets))]
	address := subnet.Addr()
	for range 1 + chance.IntN(6) {
		address = address.Next()
	}
	switch chance.IntN(20) {
	case 0, 1:
		return m.requestPool(w, subnet)
	case 2:
		return m.releasePool(w, subnet)
	case 3:
		m.activation++
		return "activate", w.Activate(context.Background())
	case 4:
		for _, l := range m.leases {
			l.lost = !l.used // until the next request
		}
		return "restart", w.begin()
	case 5:
		return m.sweep(w)
	case 6:
		return m.foreign(w, subnet, address)
	case 7, 8, 9, 10, 11:
		return m.release(w, subnet, address)
	case 12, 13, 14, 15:
		return m.named(w, subnet, address)
	}
	return m.chosen(w, subnet)
}

func id(subnet netip.Prefix) string { return "local/" + modelPools[subnet] + "/" + subnet.String() }

func wanted(what string, want, got error) error {
	if !errors.Is(got, want) || (got == nil) != (want == nil) {
		return fmt.Errorf("%s: got error %v, want %v", what, got, want)
	}
	return nil
}

func (m *model) requestPool(w *world, subnet netip.Prefix) (string, error) {
	what := "request " + id(subnet)
	_, err := w.RequestPool(context.Background(), ipam.PoolRequest{Space: ipam.LocalSpace, Subnet: subnet})
	switch l := m.leases[subnet]; {
	case l == nil:
		m.terms++
		m.leases[subnet] = &modelLease{activation: m.activation, term: m.terms}
	case l.activation == m.activation && (l.used || !l.lost):
		return what, wanted(what, network.ErrTaken, err)
	default:
		l.activation, l.lost = m.activation, false
	}
	return what, wanted(what, nil, err)
}

func (m *model) releasePool(w *world, subnet netip.Prefix) (string, error) {
	delete(m.leases, subnet)
	return "end " + id(subnet), w.ReleasePool(context.Background(), id(subnet))
}

// use returns the lease of a requested address, which must exist.
func (m *model) use(subnet netip.Prefix) *modelLease {
	if m.leases[subnet] == nil {
		m.terms++
		m.leases[subnet] = &modelLease{activation: m.activation, term: m.terms}
	}
	m.leases[subnet].used = true
	return m.leases[subnet]
}

func (m *model) named(w *world, subnet netip.Prefix, address netip.Addr) (string, error) {
	what := "address " + address.String()
	_, err := w.RequestAddress(context.Background(), id(subnet), address, nil)
	l, a := m.use(subnet), m.addresses[address]
	mine := a != nil && !a.foreign
	if mine && (a.term == l.term && a.activation == m.activation || l.activation != m.activation) || a != nil && a.foreign {
		return what, wanted(what, network.ErrTaken, err)
	}
	m.addresses[address] = &modelAddress{activation: m.activation, term: l.term}
	return what, wanted(what, nil, err)
}

func (m *model) chosen(w *world, subnet netip.Prefix) (string, error) {
	got, err := w.RequestAddress(context.Background(), id(subnet), netip.Addr{}, nil)
	what, l := "any address of "+id(subnet)+" "+got.String(), m.use(subnet)
	held := 0
	for address := range m.addresses {
		if subnet.Contains(address) {
			held++
		}
	}
	if held == 1<<(32-subnet.Bits())-2 {
		return what, wanted(what, network.ErrExhausted, err)
	}
	if err == nil && m.addresses[got.Addr()] != nil {
		return what, errors.New("it is held")
	}
	m.addresses[got.Addr()] = &modelAddress{activation: m.activation, term: l.term}
	return what, wanted(what, nil, err)
}

func (m *model) release(w *world, subnet netip.Prefix, address netip.Addr) (string, error) {
	if a := m.addresses[address]; a != nil && !a.foreign {
		delete(m.addresses, address)
	}
	return "free " + address.String(), w.ReleaseAddress(context.Background(), id(subnet), address)
}

func (m *model) foreign(w *world, subnet netip.Prefix, address netip.Addr) (string, error) {
	what := "foreign " + address.String()
	a := m.addresses[address]
	if a != nil && a.foreign {
		delete(m.addresses, address)
		return what + " is free", w.service.Release(context.Background(), network.Owner{Contract: "dranet", Key: "uid/" + address.String()})
	}
	err := w.foreign(modelPools[subnet], address.String())
	if a != nil {
		return what, wanted(what, network.ErrTaken, err)
	}
	m.addresses[address] = &modelAddress{foreign: true}
	return what, wanted(what, nil, err)
}

func (m *model) sweep(w *world) (string, error) {
	for range 2 {
		if err := w.Sweep(context.Background()); err != nil {
			return "sweep", err
		}
		w.clock.Step(11 * time.Minute)
	}
	maps.DeleteFunc(m.addresses, func(address netip.Addr, a *modelAddress) bool {
		for subnet := range modelPools {
			if l := m.leases[subnet]; subnet.Contains(address) {
				return !a.foreign && (l == nil || l.term != a.term)
			}
		}
		return false
	})
	return "sweep", nil
}

// TestConcurrentRequestsAndSweeps runs many concurrent requests and sweeps on small pools: no address has two owners, and no address is
// left at the end.
func TestConcurrentRequestsAndSweeps(t *testing.T) {
	w := newWorld(t)
	for _, do := range []string{"pool local pool=small", "pool local pool=cloudy", "pool global pool=overlay"} {
		if got := w.do(do); strings.HasPrefix(got, "!") {
			t.Fatal(got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	background := make(chan struct{})
	go func() { defer close(background); w.service.Run(ctx) }()
	var (
		group  sync.WaitGroup
		mutex  sync.Mutex
		having = map[netip.Addr]int{}
	)
	for i := range 24 {
		group.Go(func() {
			of := []string{"local/small/10.66.0.0/29", "local/cloudy/10.67.0.0/24", "global/overlay/10.64.0.0/24"}[i%3]
			for round := range 40 {
				var name netip.Addr
				if round%4 == 0 && i%3 == 0 {
					name = netip.MustParseAddr("10.66.0.3")
				}
				given, err := w.RequestAddress(t.Context(), of, name, nil)
				if err != nil {
					if !errors.Is(err, network.ErrTaken) && !errors.Is(err, network.ErrExhausted) {
						t.Error(err)
					}
					continue
				}
				mutex.Lock()
				if having[given.Addr()]++; having[given.Addr()] > 1 {
					t.Errorf("%s has two owners", given)
				}
				mutex.Unlock()
				if round%8 == 0 {
					if err := w.Sweep(t.Context()); err != nil {
						t.Error(err)
					}
				}
				mutex.Lock()
				having[given.Addr()]--
				mutex.Unlock()
				if err := w.ReleaseAddress(t.Context(), of, given.Addr()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 8 { // each wants a pool of its own
		group.Go(func() {
			for range 20 {
				p, err := w.RequestPool(t.Context(), ipam.PoolRequest{Space: ipam.LocalSpace, Options: map[string]string{"profile": "acme.com/overlay"}})
				if errors.Is(err, network.ErrExhausted) {
					continue
				}
				if err != nil {
					t.Error(err)
					continue
				}
				mutex.Lock()
				if having[p.Prefix.Addr()]++; having[p.Prefix.Addr()] > 1 {
					t.Errorf("%s is leased to two", p.ID)
				}
				mutex.Unlock()
				mutex.Lock()
				having[p.Prefix.Addr()]--
				mutex.Unlock()
				if err := w.ReleasePool(t.Context(), p.ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for deadline := time.Now().Add(10 * time.Second); len(w.cloud.bound()) > 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		w.clock.Step(time.Second)
	}
	cancel()
	<-background
	if diff := cmp.Diff([]string(nil), w.held(), emptyIsNil); diff != "" {
		t.Errorf("held at last (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string(nil), w.cloud.bound(), emptyIsNil); diff != "" {
		t.Errorf("bound at last (-want +got):\n%s", diff)
	}
	w.even()
}
