// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package pebble_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/pebble"
)

// TestRemoved writes, replaces and removes few rows again and again, in groups, between which the engine writes its tables anew or the store is
// opened again, as it was closed or as a loss of power leaves it, without anything that is not synced: what was removed must never come back,
// and the engine must find nothing wrong with how it was removed. So few rows are remembered that most are forgotten, or nearly, before that.
func TestRemoved(t *testing.T) {
	const steps, callers = 400, 6
	var (
		disk    = vfs.NewCrashableMem()
		random  = rand.New(rand.NewPCG(1, 2))
		stands  = make([]map[string][]byte, callers)
		open    func() *pebble.Store
		reports sync.Map
	)
	open = func() *pebble.Store {
		store, err := pebble.Open("ledger", pebble.Options{FS: disk, Report: func(line string) { reports.Store(line, true) }})
		if err != nil {
			t.Fatal(err)
		}
		store.SetGeneration(24)
		return store
	}
	for i := range stands {
		stands[i] = map[string][]byte{}
	}
	store := open()
	for step := range steps {
		var group sync.WaitGroup
		for caller := range callers {
			own := rand.New(rand.NewPCG(uint64(step), uint64(caller)))
			group.Go(func() { churn(t, store, stands[caller], fmt.Sprint(caller), own) })
		}
		group.Wait()
		switch random.IntN(8) {
		case 0:
			if err := store.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 1:
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			store = open()
		case 2:
			after := disk.CrashClone(vfs.CrashCloneCfg{})
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			disk = after
			store = open()
		}
		want, got := map[string][]byte{}, map[string][]byte{}
		for _, of := range stands {
			maps.Copy(want, of)
		}
		err := store.Scan(t.Context(), "", func(key, value []byte) error { got[string(key)] = bytes.Clone(value); return nil })
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("rows after step %d, %v (-want +got):\n%s", step, err, diff)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	reports.Range(func(line, _ any) bool { t.Error(line); return true })
}

// churn changes one or two rows of a caller, a few times.
func churn(t *testing.T, store *pebble.Store, stands map[string][]byte, caller string, random *rand.Rand) {
	for range 4 {
		first := random.IntN(3)
		var changes []ledger.Change
		for i := range 1 + random.IntN(2) {
			key := fmt.Sprintf("%s/%d", caller, (first+i)%3)
			c := ledger.Change{Key: key, Was: stands[key]}
			if random.IntN(2) == 0 {
				c.Value = fmt.Append(nil, random.IntN(3))
			}
			changes = append(changes, c)
		}
		if err := store.Commit(t.Context(), changes...); err != nil {
			t.Error(err)
			return
		}
		for _, c := range changes {
			if stands[c.Key] = c.Value; c.Value == nil {
				delete(stands, c.Key)
			}
		}
	}
}
