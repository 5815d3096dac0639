// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// faults reports whether something fails, by chance.
type faults struct{ on atomic.Bool }

// strike is an error, one time of so many.
func (f *faults) strike(of int) error {
	if f.on.Load() && rand.IntN(of) == 0 {
		return errBroken
	}
	return nil
}

// shaky is a store that fails before and after commits.
type shaky struct {
	ledger.Store
	*faults
}

func (s shaky) Commit(ctx context.Context, changes ...ledger.Change) error {
	if err := s.strike(40); err != nil {
		return err
	}
	return errors.Join(s.Store.Commit(ctx, changes...), s.strike(40))
}

func (s shaky) Get(ctx context.Context, key string) ([]byte, error) {
	if err := s.strike(60); err != nil {
		return nil, err
	}
	return s.Store.Get(ctx, key)
}

// jealous is a cloud that detects an address with two owners.
type jealous struct {
	*faults
	t     *testing.T
	mutex sync.Mutex
	at    map[netip.Addr]network.Owner
}

func (j *jealous) Bind(_ context.Context, a network.Allocation) (network.Binding, error) {
	if err := j.strike(10); err != nil {
		return network.Binding{}, err
	}
	j.mutex.Lock()
	defer j.mutex.Unlock()
	for _, address := range a.Addresses {
		if other, bound := j.at[address]; bound && other != a.Owner {
			j.t.Errorf("%s is bound for %s, and is wanted for %s", address, other, a.Owner)
		}
		j.at[address] = a.Owner
	}
	if j.on.Load() && rand.IntN(20) == 0 {
		return network.Binding{}, fmt.Errorf("%w: by chance", network.ErrRefused)
	}
	return network.Binding{Reference: []byte(`"r"`)}, j.strike(20)
}

func (j *jealous) Unbind(_ context.Context, a network.Allocation) error {
	if err := j.strike(10); err != nil {
		return err
	}
	j.mutex.Lock()
	defer j.mutex.Unlock()
	for _, address := range a.Addresses {
		if j.at[address] == a.Owner {
			delete(j.at, address)
		}
	}
	return j.strike(20)
}

// chaos is a service with failures and its environment.
type chaos struct {
	*service.Service
	t      *testing.T
	faults faults
	inner  ledger.Store
	ledger *ledger.Ledger
	cloud  *jealous
	pools  [][]ledger.Pool
	behind map[string]service.Pool
}

func newChaos(t *testing.T) *chaos {
	t.Helper()
	inner := memory.Open(t)
	c := &chaos{t: t, inner: inner}
	c.cloud = &jealous{faults: &c.faults, t: t, at: map[netip.Addr]network.Owner{}}
	for _, last := range []string{"10.0.0.40", "10.0.0.60"} {
		var b netipx.IPSetBuilder
		b.AddRange(netipx.IPRangeFrom(netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr(last)))
		dynamic, err := b.IPSet()
		if err != nil {
			t.Fatal(err)
		}
		subnets := []ledger.Subnet{{Prefix: netip.MustParsePrefix("10.0.0.0/24"), Dynamic: dynamic}}
		c.pools = append(c.pools, []ledger.Pool{{Name: "plain", Subnets: subnets}, {Name: "cloudy", Subnets: subnets, FirstVLAN: 1, LastVLAN: 4000}})
	}
	var err error
	if c.ledger, err = ledger.Open(t.Context(), shaky{inner, &c.faults}, c.pools[0]...); err != nil {
		t.Fatal(err)
	}
	limiter := service.NewLimiter("cloud", service.Limit{Rate: 20000, Burst: 100, Parallel: 6}, clock.RealClock{})
	c.behind = map[string]service.Pool{"plain": {Quarantine: time.Millisecond}, "cloudy": {Cloud: c.cloud, Limiter: limiter}}
	c.Service = service.New(c.ledger, c.behind, service.Options{Clock: clock.RealClock{}, Budget: 2 * time.Second, Random: rand.Float64})
	return c
}

// act does something by chance.
func (c *chaos) act(ctx context.Context) {
	owner := func() network.Owner { return network.Owner{Contract: "test", Key: fmt.Sprint(rand.IntN(40))} }
	ctx, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(20))*time.Millisecond)
	defer cancel()
	switch rand.IntN(20) {
	case 0:
		pools := maps.Clone(c.behind)
		_, _ = c.ledger.Configure(ctx, nil, c.pools[rand.IntN(len(c.pools))]...)
		c.Configure(pools, nil)
	case 1:
		_, _ = c.ledger.Expire(ctx, time.Now())
	case 2:
		_ = c.Recover(ctx)
	case 3, 4, 5, 6, 7, 8:
		_ = c.Release(ctx, owner())
	default:
		var requests []service.Request
		for range 1 + rand.IntN(3) {
			r := service.Request{Owner: owner(), Pool: []string{"plain", "cloudy"}[rand.IntN(2)], Quotas: []ledger.Quota{{Name: "q", Limit: 30}}}
			if rand.IntN(4) == 0 {
				r.Addresses = []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(1 + rand.IntN(60))})}
				r.Preempt = rand.IntN(2) == 0
			}
			requests = append(requests, r)
		}
		_, _ = c.AllocateAll(ctx, requests...)
	}
}

// TestChaos runs random operations while store and cloud fail. The result is consistent, and nothing ever has two
// owners.
func TestChaos(t *testing.T) {
	const callers, actions = 24, 150
	c := newChaos(t)
	c.faults.on.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range actions {
				c.act(t.Context())
			}
		})
	}
	group.Wait()
	c.faults.on.Store(false)
	if _, err := c.ledger.Configure(t.Context(), nil, c.pools[1]...); err != nil {
		t.Fatal(err)
	}
	var problems []string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if problems = c.check(); len(problems) == 0 {
			break
		}
		if err := c.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ledger.Expire(t.Context(), time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	for _, problem := range problems {
		t.Error(problem)
	}
	cancel()
	<-done
}

// check returns the inconsistencies after all work has ended.
func (c *chaos) check() (problems []string) {
	var (
		things = map[string]string{}
		held   = map[string]uint64{}
		quotas = map[string]int{}
		bound  = map[netip.Addr]network.Owner{}
		ctx    = context.Background()
	)
	complain := func(format string, arguments ...any) { problems = append(problems, fmt.Sprintf(format, arguments...)) }
	_ = c.ledger.All(ctx, func(a network.Allocation) error {
		if a.State != network.Bound {
			complain("%s is %s", a.Owner, a.State)
		}
		for _, address := range a.Addresses {
			things[fmt.Sprintf("ip/%s/%x", a.Pool, address.AsSlice())] = "=" + a.Owner.String()
			if a.Pool == "cloudy" {
				bound[address] = a.Owner
			}
			held[a.Pool]++
		}
		if a.VLAN != 0 {
			things[fmt.Sprintf("vlan/%s/%s/%d", a.Trunk.Node, a.Trunk.MAC, a.VLAN)] = "=" + a.Owner.String()
		}
		for _, name := range a.Quotas {
			quotas[a.Pool+" "+name]++
		}
		return nil
	})
	rows, counted := map[string]string{}, map[string]int{}
	_ = c.inner.Scan(ctx, "", func(key, value []byte) error {
		switch kind, rest, _ := strings.Cut(string(key), "/"); kind {
		case "owner", "format", "tombstone":
		case "quota":
			counted[strings.Replace(rest, "/", " ", 1)], _ = strconv.Atoi(string(value))
		default:
			rows[string(key)] = string(value)
		}
		return nil
	})
	for _, pool := range []string{"plain", "cloudy"} {
		u := c.ledger.Usage(pool)
		if u.Held != held[pool] || u.Quarantined != 0 {
			complain("of the pool %s memory says %+v, where %d are held", pool, u, held[pool])
		}
	}
	for what, diff := range map[string]string{
		"rows": cmp.Diff(things, rows), "quotas": cmp.Diff(quotas, counted),
		"addresses in the cloud": cmp.Diff(bound, c.cloud.all(), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })),
	} {
		if diff != "" {
			complain("%s (-allocations +found):\n%s", what, diff)
		}
	}
	slices.Sort(problems)
	return problems
}

func (j *jealous) all() map[netip.Addr]network.Owner {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return maps.Clone(j.at)
}
