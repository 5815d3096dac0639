// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// prepare fills an empty store and waits until its background work is finished.
func prepare(ctx context.Context, store ledger.Store, held int) error {
	empty, err := ledger.Empty(ctx, store)
	if err != nil {
		return err
	}
	if empty {
		begin := time.Now()
		if err := fill(ctx, store, held); err != nil {
			return err
		}
		if took := time.Since(begin); took > telling {
			fmt.Fprintf(os.Stderr, "    all are there after %s\n", took.Round(time.Second))
		}
	}
	settle(ctx)
	return nil
}

// telling is the interval of progress messages.
const telling = 5 * time.Second

// settle waits until a store has finished its background work: until the process has been idle for a second.
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

// fill writes allocations with many concurrent writers, in large commits.
func fill(ctx context.Context, store ledger.Store, held int) error {
	const rows = 2 // of an allocation
	together := ledger.Batch(store) / rows * rows
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
		one, err := rowsOf(nameOf(uint64(i)*step), netip.AddrFrom4(raw))
		if err != nil {
			return err
		}
		changes = append(changes, one...)
		if len(changes) < together && i < held-1 {
			continue
		}
		select {
		case group <- changes:
		case err := <-errs:
			return err
		}
		changes = nil
		if time.Since(told) > telling {
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

// weight returns the size of a file or of all files of a folder, in bytes.
func weight(path string) (bytes int64, err error) {
	err = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
