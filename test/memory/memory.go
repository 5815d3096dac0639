// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package memory provides ledgers for tests: the store that programs use, in a folder of the test. Start reading at
// Open.
package memory

import (
	"os"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
)

// shared is a file system in memory that Linux mounts. Tests of units lose no power, and need not wait for a disk.
const shared = "/dev/shm"

// Folder returns an empty folder in memory, or on the disk where the system has no such file system. It is removed when
// the test ends.
func Folder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp(shared, "graft-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// Open returns an empty store, which is closed when the test ends.
func Open(t testing.TB) *file.Store {
	t.Helper()
	store, err := file.Open(Folder(t), file.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}
