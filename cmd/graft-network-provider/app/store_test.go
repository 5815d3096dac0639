// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/go-logr/logr/funcr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/pebble"
	"github.com/graft-provider/gardener-extension-provider-graft/test/running"
)

// TestFullDisk holds that a disk that takes nothing any more ends the program with status 1 and a line that says what to do, and that nothing
// is acknowledged then.
func TestFullDisk(t *testing.T) {
	var full atomic.Bool
	disk := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	})
	log, status := &running.Log{}, make(chan int, 1)
	options := folderOptions("ledger", funcr.New(func(_, line string) { _, _ = log.Write([]byte(line + "\n")) }, funcr.Options{}), func(code int) {
		select {
		case status <- code:
		default:
		}
		runtime.Goexit() // as the end of the program, it does not return
	})
	options.FS = errorfs.Wrap(vfs.NewMem(), disk)
	store, err := pebble.Open("ledger", options)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Commit(t.Context(), ledger.Change{Key: "a", Value: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	acknowledged := make(chan error, 1)
	go func() { acknowledged <- store.Commit(t.Context(), ledger.Change{Key: "b", Value: []byte("1")}) }()
	if code := <-status; code != 1 {
		t.Errorf("status %d", code)
	}
	select {
	case err := <-acknowledged:
		t.Errorf("the commit was answered: %v", err)
	default:
	}
	for _, want := range []string{"no space left on device", "make room beside the folder", `"folder"="ledger"`} {
		if said := log.String(); !strings.Contains(said, want) || strings.Contains(said, "goroutine") {
			t.Errorf("the log lacks %q: %s", want, said)
		}
	}
}

// TestDamagedFolder holds that nobody is told that all that was answered is there when it is not.
func TestDamagedFolder(t *testing.T) {
	log, status := &running.Log{}, 0
	options := folderOptions("ledger", funcr.New(func(_, line string) { _, _ = log.Write([]byte(line + "\n")) }, funcr.Options{}), func(code int) { status = code })
	options.Die(fmt.Errorf("reading: %w: checksum mismatch\ngoroutine 1", pebble.ErrDamaged))
	said := log.String()
	if status != 1 || !strings.Contains(said, "what was answered after that export is not in it") || !strings.Contains(said, "checksum mismatch") ||
		strings.Contains(said, "all that was answered is in it") || strings.Contains(said, "goroutine") {
		t.Errorf("status %d, and the log says %s", status, said)
	}
}
