// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"go4.org/netipx"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// callers are the numbers of concurrent callers.
var callers = []int{1, 64, 256}

// result is one row of the table.
type result struct {
	store, what   string
	held, callers int
	rounds        []round
	// opening is the time to open the filled store as a ledger, memory the size of the heap afterwards, and disk the
	// size of the store's files before the measurement.
	opening      time.Duration
	memory, disk int64
}

// round has the measurements of one round, for one transaction.
type round struct {
	rate, cpu, allocs float64
	p50, p99          time.Duration
}

// cycle makes two transactions: it allocates for a name and releases the allocation.
type cycle func(ctx context.Context, name string) error

// wanted returns the rows to measure, for all numbers of callers.
func wanted(o options, k kind, held int, order []string) (rows []*result) {
	for _, what := range order {
		if what != "store" && !o.rows.MatchString(what) {
			continue
		}
		for _, n := range callers {
			rows = append(rows, &result{store: k.name, what: what, held: held, callers: n})
		}
	}
	return rows
}

// rawOf returns the cycle of the store without the service.
func rawOf(store ledger.Store) ledger.Store {
	if s, is := store.(served); is {
		return s.beside
	}
	return store
}

// measure fills a store and measures its transactions.
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
	disk, err := weight(filepath.Join(folder, k.database))
	if err != nil {
		return nil, err
	}
	raw, order := rawOf(store), []string{"store"}
	cycles := map[string]cycle{"store": func(ctx context.Context, name string) error { return bare(ctx, raw, name) }}
	opening := &result{store: k.name, held: held, what: "open", disk: disk}
	if !k.alone {
		before, begin := heap(), time.Now()
		l, err := ledger.Open(ctx, store, pool())
		if err != nil {
			return nil, err
		}
		opening.opening, opening.memory = time.Since(begin), max(0, heap()-before)
		ctx, end := context.WithCancel(ctx)
		following := make(chan struct{})
		go func() { defer close(following); _ = l.Follow(ctx) }()
		defer func() { end(); <-following }()
		s := service.New(l, map[string]service.Pool{poolName: {}}, service.Options{Clock: clock.RealClock{}})
		cycles["service"] = func(ctx context.Context, name string) error { return allocate(ctx, s, name) }
		over, stop, err := serve(ctx, s)
		if err != nil {
			return nil, err
		}
		defer stop()
		cycles["wire"] = over
		order = append(order, "service", "wire")
	}
	results = wanted(o, k, held, order)
	if err := turns(ctx, o, results, cycles); err != nil {
		return nil, err
	}
	return append(results, opening), nil
}

// poolName is the name of the pool in document.
const poolName = "bench"

// pool returns a pool of more than ten million addresses.
func pool() ledger.Pool {
	var b netipx.IPSetBuilder
	prefix := netip.MustParsePrefix("10.0.0.0/8")
	b.AddPrefix(prefix)
	dynamic, _ := b.IPSet() // a prefix is a set
	return ledger.Pool{Name: poolName, Subnets: []ledger.Subnet{{Prefix: prefix, Dynamic: dynamic}}}
}

// nameOf returns the name of an owner: a claim and its device. Names are in the order of the numbers, because a store
// is filled faster in this order.
func nameOf(number uint64) string {
	const scatter = 0x9e3779b97f4a7c15
	return fmt.Sprintf("%08x-%04x-%04x-9%03x-%012x/pci-0000-27-00-2", uint32(number>>32), uint16(number>>16),
		uint16(number), number*scatter>>52, number*scatter>>16)
}

// rowsOf returns the rows that the ledger writes for an allocation.
func rowsOf(name string, address netip.Addr) ([]ledger.Change, error) {
	a := network.Allocation{
		Owner: network.Owner{Contract: "dranet", Key: name}, Pool: poolName, State: network.Bound,
		Addresses: []netip.Addr{address},
		Since:     time.Unix(1e9, 0).UTC(), Holder: holder(name),
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	rows, err := ledger.AllocationRows(raw)
	return rows, err
}

func holder(name string) network.Holder {
	return network.Holder{Kind: "ResourceClaim", UID: name[:36], Device: name[37:]}
}

// bare returns a cycle of the store without the service, with rows of the same size.
func bare(ctx context.Context, store ledger.Store, name string) error {
	// Addresses of another family than the allocated ones.
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
	if _, err := s.Allocate(ctx, service.Request{Owner: owner, Pool: poolName, Holder: holder(name)}); err != nil {
		return err
	}
	return s.Release(ctx, owner)
}
