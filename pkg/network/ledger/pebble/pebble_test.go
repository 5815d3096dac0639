// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package pebble_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	for _, o := range []pebble.Options{{}, {Existing: true}, {ReadOnly: true}} {
		if second, err := pebble.Open(folder, o); !errors.Is(err, pebble.ErrHeld) {
			t.Errorf("%+v: got %v and %v, want %v", o, second, err, pebble.ErrHeld)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMissing holds that nothing is made where a ledger is expected.
func TestMissing(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, filepath.Join(folder, "none"), filepath.Join(folder, "file")} {
		for _, o := range []pebble.Options{{Existing: true}, {ReadOnly: true}} {
			if _, err := pebble.Open(path, o); !errors.Is(err, pebble.ErrMissing) {
				t.Errorf("%s: got error %v, want %v", path, err, pebble.ErrMissing)
			}
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("there is %v, %v", left, err)
	}
}

// TestReadOnly holds that rows are read that were just written, and none can be.
func TestReadOnly(t *testing.T) {
	folder := t.TempDir()
	for _, o := range []pebble.Options{{}, {ReadOnly: true}, {Existing: true}} {
		store, err := pebble.Open(folder, o)
		if err != nil {
			t.Fatal(err)
		}
		err = store.Commit(t.Context(), ledger.Change{Key: fmt.Sprint(o), Value: []byte("1")})
		if (err != nil) != o.ReadOnly {
			t.Errorf("%+v: got error %v", o, err)
		}
		if value, err := store.Get(t.Context(), fmt.Sprint(pebble.Options{})); value == nil || err != nil {
			t.Errorf("%+v: got %q, %v", o, value, err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCompact holds that rows that are gone take no room after a compaction, and those that are there stay.
func TestCompact(t *testing.T) {
	store, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 1<<20)
	for i := range value {
		value[i] = byte(rand.Uint32())
	}
	for i := range 64 {
		key := fmt.Sprint(i)
		if err := store.Commit(t.Context(), ledger.Change{Key: key, Value: value}); err != nil {
			t.Fatal(err)
		}
		if i%16 == 0 {
			continue
		}
		if err := store.Commit(t.Context(), ledger.Change{Key: key, Was: value}); err != nil {
			t.Fatal(err)
		}
	}
	before, err := store.Size()
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := store.Size()
	if err != nil || after > before/2 {
		t.Errorf("it has taken %d bytes and takes %d, %v", before, after, err)
	}
	for i := range 64 {
		if got, err := store.Get(t.Context(), fmt.Sprint(i)); (got != nil) != (i%16 == 0) || err != nil {
			t.Errorf("row %d: %d bytes, %v", i, len(got), err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Compact(t.Context()); !errors.Is(err, pebble.ErrClosed) {
		t.Errorf("got error %v, want %v", err, pebble.ErrClosed)
	}
}

// TestCloseWhileScanning holds that a scan may read and write, and ends with the store.
func TestCloseWhileScanning(t *testing.T) {
	store, err := pebble.Open("ledger", pebble.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if err := store.Commit(t.Context(), ledger.Change{Key: fmt.Sprint(i), Value: []byte("1")}); err != nil {
			t.Fatal(err)
		}
	}
	var closing sync.WaitGroup
	seen := 0
	err = store.Scan(t.Context(), "", func(key, _ []byte) error {
		if seen++; seen == 1 {
			begun := make(chan struct{})
			closing.Go(func() { close(begun); _ = store.Close() })
			<-begun
			for err == nil { // until it is closing
				_, err = store.Get(t.Context(), string(key))
			}
		}
		return nil
	})
	if !errors.Is(err, pebble.ErrClosed) || seen != 1 {
		t.Errorf("got error %v after %d rows, want %v", err, seen, pebble.ErrClosed)
	}
	closing.Wait()
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
