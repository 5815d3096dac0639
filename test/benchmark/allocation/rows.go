// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"syscall"
	"time"

	"go4.org/netipx"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// callers are how many work at a time.
var callers = []int{1, 64, 256}

// result is one row of the table.
type result struct {
	store, what   string
	held, callers int
	rounds        []round
	// opening says how long a store that holds so much took to be opened as a ledger, and memory what that left on the heap.
	opening time.Duration
	memory  int64
}

// round is what one window has shown, for one transaction.
type round struct {
	rate, cpu, allocs float64
	p50, p99          time.Duration
}

// cycle makes two transactions: it takes something under a name, and gives it back.
type cycle func(ctx context.Context, name string) error

// measure fills a store, and measures what is done on it.
func measure(ctx context.Context, o options, k kind, held int) (results []*result, err error) {
	folder := filepath.Join(o.folder, fmt.Sprintf("%s-%d", k.name, held))
	store, err := k.open(ctx, o, folder)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closing := store.Close(); err == nil {
			err = closing
		}
		if !o.keep {
			_ = os.RemoveAll(folder)
		}
	}()
	if err := prepare(ctx, store, held); err != nil {
		return nil, err
	}
	alone := func(ctx context.Context, name string) error { return bare(ctx, store, name) }
	cycles := map[string]cycle{"store": alone}
	order := []string{"store"}
	opening := &result{store: k.name, held: held, what: "open"}
	if !k.alone {
		before, begin := heap(), time.Now()
		l, err := ledger.Open(ctx, store, pool())
		if err != nil {
			return nil, err
		}
		opening.opening, opening.memory = time.Since(begin), max(0, heap()-before)
		s := service.New(l, map[string]service.Pool{pool().Name: {}}, service.Options{Clock: clock.RealClock{}})
		cycles["service"] = func(ctx context.Context, name string) error { return allocate(ctx, s, name) }
		over, stop, err := serve(ctx, s)
		if err != nil {
			return nil, err
		}
		defer stop()
		cycles["wire"] = over
		order = append(order, "service", "wire")
	}
	for _, what := range order {
		if what != "store" && !o.rows.MatchString(what) {
			continue
		}
		for _, n := range callers {
			results = append(results, &result{store: k.name, what: what, held: held, callers: n})
		}
	}
	if err := turns(ctx, o, results, cycles); err != nil {
		return nil, err
	}
	return append(results, opening), nil
}

// prepare fills a store that is empty, and lets it come to rest.
func prepare(ctx context.Context, store ledger.Store, held int) error {
	empty, err := ledger.Empty(ctx, store)
	if err != nil {
		return err
	}
	if empty {
		if err := fill(ctx, store, held); err != nil {
			return err
		}
	}
	settle(ctx)
	return nil
}

// turns measures the rows in turn, round for round.
func turns(ctx context.Context, o options, results []*result, cycles map[string]cycle) error {
	for i := range o.rounds {
		for _, r := range results {
			do := func() (round, error) { return window(ctx, o.window, r.callers, cycles[r.what]) }
			if o.profile != "" && i == o.rounds-1 && r.what == "service" && r.callers == callers[len(callers)-1] {
				do = recorded(o.profile, do)
			}
			measured, err := do()
			if err != nil {
				return err
			}
			r.rounds = append(r.rounds, measured)
		}
	}
	return nil
}

// recorded writes a profile of the processors beside.
func recorded(path string, do func() (round, error)) func() (round, error) {
	return func() (round, error) {
		file, err := os.Create(path)
		if err != nil {
			return round{}, err
		}
		defer func() { _ = file.Close() }()
		if err := pprof.StartCPUProfile(file); err != nil {
			return round{}, err
		}
		defer pprof.StopCPUProfile()
		return do()
	}
}

// pool is large enough for ten million.
func pool() ledger.Pool {
	var b netipx.IPSetBuilder
	prefix := netip.MustParsePrefix("10.0.0.0/8")
	b.AddPrefix(prefix)
	dynamic, _ := b.IPSet() // a prefix is a set
	return ledger.Pool{Name: "bench", Subnets: []ledger.Subnet{{Prefix: prefix, Dynamic: dynamic}}}
}

// nameOf is that of an owner, a claim and its device. Names are in the order of the numbers, which is how a store is filled quickly.
func nameOf(number uint64) string {
	const scatter = 0x9e3779b97f4a7c15
	return fmt.Sprintf("%08x-%04x-%04x-9%03x-%012x/pci-0000-27-00-2", uint32(number>>32), uint16(number>>16), uint16(number), number*scatter>>52, number*scatter>>16)
}

// rowsOf are those of an allocation, as the ledger writes them.
func rowsOf(name string, address netip.Addr) ([]ledger.Change, error) {
	a := network.Allocation{
		Owner: network.Owner{Contract: "dranet", Key: name}, Pool: pool().Name, State: network.Bound, Addresses: []netip.Addr{address},
		Since: time.Unix(1e9, 0).UTC(), Holder: holder(name),
	}
	return ledger.Rows(a)
}

func holder(name string) network.Holder {
	return network.Holder{Kind: "ResourceClaim", UID: name[:36], Device: name[37:]}
}

// bare is a cycle of the store alone, with rows of the same size.
func bare(ctx context.Context, store ledger.Store, name string) error {
	// Addresses of another family than those that are held.
	var raw [16]byte
	copy(raw[:], name)
	changes, err := rowsOf(name, netip.AddrFrom16(raw))
	if err != nil {
		return err
	}
	if err := store.Commit(ctx, changes...); err != nil {
		return err
	}
	for i, c := range changes {
		changes[i] = ledger.Change{Key: c.Key, Was: c.Value}
	}
	return store.Commit(ctx, changes...)
}

func allocate(ctx context.Context, s *service.Service, name string) error {
	owner := network.Owner{Contract: "dranet", Key: name}
	if _, err := s.Allocate(ctx, service.Request{Owner: owner, Pool: pool().Name, Holder: holder(name)}); err != nil {
		return err
	}
	return s.Release(ctx, owner)
}

// window lets callers work for a time.
func window(ctx context.Context, length time.Duration, callers int, do cycle) (round, error) {
	var (
		group   sync.WaitGroup
		spans   = make([][]time.Duration, callers)
		errs    = make([]error, callers)
		memory  = allocations()
		used    = cpu()
		begin   = time.Now()
		another = func() bool { return time.Since(begin) < length && ctx.Err() == nil }
	)
	for i := range callers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(begin.UnixNano()), uint64(i)))
			for another() && errs[i] == nil {
				from := time.Now()
				errs[i] = do(ctx, nameOf(random.Uint64()))
				spans[i] = append(spans[i], time.Since(from)/2)
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return round{}, err
		}
	}
	all := slices.Concat(spans...)
	slices.Sort(all)
	transactions := float64(2 * len(all))
	return round{
		rate: transactions / time.Since(begin).Seconds(), cpu: float64(cpu()-used) / transactions, allocs: float64(allocations()-memory) / transactions,
		p50: all[len(all)/2], p99: all[len(all)*99/100],
	}, ctx.Err()
}

func allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// heap is what is alive on it.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// cpu is the time that the processors have spent on this process.
func cpu() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // which cannot fail for oneself
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// settle waits until a store has put in order what was written to it: until the process does nothing for a second.
func settle(ctx context.Context) {
	const longest = 5 * time.Minute
	for begin := time.Now(); time.Since(begin) < longest && ctx.Err() == nil; {
		before := cpu()
		time.Sleep(time.Second)
		if cpu()-before < 50*time.Millisecond {
			return
		}
	}
}

// fill writes so many allocations, with a bar for those who wait.
func fill(ctx context.Context, store ledger.Store, held int) error {
	const together = 60
	group := make(chan []ledger.Change, 64)
	var writers sync.WaitGroup
	errs := make(chan error, 64)
	for range cap(errs) {
		writers.Go(func() {
			for changes := range group {
				if err := store.Commit(ctx, changes...); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	var raw [4]byte
	var changes []ledger.Change
	told, step := time.Now(), math.MaxUint64/uint64(held)
	for i := range held {
		binary.BigEndian.PutUint32(raw[:], uint32(10<<24+i))
		rows, err := rowsOf(nameOf(uint64(i)*step), netip.AddrFrom4(raw))
		if err != nil {
			return err
		}
		changes = append(changes, rows...)
		if len(changes) < together && i < held-1 {
			continue
		}
		select {
		case group <- changes:
		case err := <-errs:
			return err
		}
		changes = nil
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			fmt.Fprintf(os.Stderr, "    %d of %d are there\n", i, held)
		}
	}
	close(group)
	writers.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}
