// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package pebble_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/ledgertest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/pebble"
)

func TestStore(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledgertest.Open {
		folder := t.TempDir()
		return func(t *testing.T) ledger.Store {
			store, err := pebble.Open(folder, pebble.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return store
		}
	})
}

func TestOneServer(t *testing.T) {
	folder := t.TempDir()
	store, err := pebble.Open(folder, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if second, err := pebble.Open(folder, pebble.Options{}); err == nil {
		_ = second.Close()
		t.Error("a folder was opened by two servers")
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLossOfPower takes the file system as it could stand after a loss of power at any time, with an arbitrary part of what was
// not synced: what was acknowledged before must be there, and no commit in part.
func TestLossOfPower(t *testing.T) {
	const crashes, callers = 10, 8
	for crash := range crashes {
		disk := vfs.NewCrashableMem()
		store, err := pebble.Open("ledger", pebble.Options{FS: disk})
		if err != nil {
			t.Fatal(err)
		}
		var (
			group        sync.WaitGroup
			mutex        sync.Mutex
			acknowledged []string
			stop         = make(chan struct{})
		)
		for caller := range callers {
			group.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					key := fmt.Sprintf("%d/%d", caller, i)
					if err := store.Commit(t.Context(), ledger.Change{Key: "a/" + key, Value: []byte("1")}, ledger.Change{Key: "b/" + key, Value: []byte("1")}); err != nil {
						t.Error(err)
						return
					}
					mutex.Lock()
					acknowledged = append(acknowledged, key)
					mutex.Unlock()
				}
			})
		}
		for waiting := true; waiting; runtime.Gosched() {
			mutex.Lock()
			waiting = len(acknowledged) < 10*(crash+1) && !t.Failed()
			mutex.Unlock()
		}
		mutex.Lock()
		durable := acknowledged[:len(acknowledged):len(acknowledged)]
		mutex.Unlock()
		after := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rand.IntN(101), RNG: rand.New(rand.NewPCG(uint64(crash), 1))})
		close(stop)
		group.Wait()
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		checkAfterLoss(t, after, durable)
	}
}

func checkAfterLoss(t *testing.T, disk *vfs.MemFS, durable []string) {
	t.Helper()
	store, err := pebble.Open("ledger", pebble.Options{FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, key := range durable {
		if value, err := store.Get(t.Context(), "a/"+key); value == nil || err != nil {
			t.Errorf("what was acknowledged is lost: %s (%v)", key, err)
		}
	}
	err = store.Scan(t.Context(), "a/", func(key, _ []byte) error {
		if value, err := store.Get(t.Context(), "b/"+string(key[2:])); value == nil || err != nil {
			t.Errorf("%s is there in part (%v)", key, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
