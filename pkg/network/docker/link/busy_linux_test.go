// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Many interfaces on a parent do not each have all the others listed, and one whose MAC address another one has is found all the same.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b busy
		up := map[string]bool{}
		lists := 0
		list := func() (map[string]bool, error) { lists++; return maps.Clone(up), nil }
		ask := func(parent int, last byte, want bool, listed int) {
			t.Helper()
			mac := network.HardwareAddr{2, 0, 0, 0, 0, last}
			if has, err := b.has(parent, mac, list); has != want || err != nil || lists != listed {
				t.Errorf("%s: %v, %v, after %d lists; want %v after %d", mac, has, err, lists, want, listed)
			}
		}
		for i := range byte(100) {
			ask(1, i, false, 1)
		}
		ask(1, 7, false, 2) // who asked first has not brought it up
		up["\x02\x00\x00\x00\x00\x07"] = true
		ask(1, 7, true, 3)
		ask(1, 200, false, 3)
		ask(2, 200, false, 4) // another parent
		ask(1, 8, false, 5)
		time.Sleep(busyFor)
		ask(1, 201, false, 6)
		if len(b.parents) != 1 {
			t.Errorf("it remembers %d parents", len(b.parents))
		}
		ask(1, 7, true, 7) // as it was listed
		time.Sleep(busyFor)
		broken := errors.New("broken")
		if _, err := b.has(1, network.HardwareAddr{2, 0, 0, 0, 0, 1}, func() (map[string]bool, error) { return nil, broken }); !errors.Is(err, broken) {
			t.Error(err)
		}
		ask(1, 1, false, 8)
	})
}
