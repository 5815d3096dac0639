// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package memory is where ledgers of tests are: the store that programs use, on a disk that is none. Enter at Open.
package memory

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/pebble"
)

// Open is a store without rows, which is closed when the test ends.
func Open(t testing.TB) *pebble.Store {
	t.Helper()
	store, err := pebble.Open("ledger", pebble.Options{FS: vfs.NewMem()})
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
