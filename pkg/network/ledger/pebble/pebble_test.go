// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package pebble_test

import (
	"testing"

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
