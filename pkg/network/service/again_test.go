// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"errors"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// TestLastOwnerGetsAddressInQuarantine checks that the last owner of an address in quarantine, or its successor, gets it by name, with
// and without a cloud.
func TestLastOwnerGetsAddressInQuarantine(t *testing.T) {
	for _, pool := range []string{"plain", "cloudy"} {
		w := newWorld(t)
		release := func(key string) {
			if err := w.Release(t.Context(), request(pool, key).Owner); err != nil {
				t.Fatal(err)
			}
			w.run()
			w.eventually("it rests", func() bool { return w.state(key) == "none" })
		}
		w.allocate(request(pool, "net/a", "10.0.0.5"))
		release("net/a")
		if _, err := w.Allocate(t.Context(), request(pool, "net/b", "10.0.0.5")); !errors.Is(err, network.ErrTaken) {
			t.Errorf("%s: another owner: got error %v, want that it rests", pool, err)
		}
		again := request(pool, "net/a", "10.0.0.5")
		again.PreviousOwner = "net/a"
		w.allocate(again)
		release("net/a")
		kin := request(pool, "net/b", "10.0.0.5")
		kin.PreviousOwner = "net/"
		w.allocate(kin)
		release("net/b")
		if _, err := w.Allocate(t.Context(), request(pool, "net/a", "10.0.0.5")); !errors.Is(err, network.ErrTaken) {
			t.Errorf("%s: who had it before: got error %v, want that it rests", pool, err)
		}
	}
}
