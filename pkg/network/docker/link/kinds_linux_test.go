// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// A kind that is missing is not tried each time that somebody asks for it, and one that could not be tried is.
func TestKindsAreTriedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k kinds
		tries := 0
		faults := map[Kind]error{Bridge: nil, Macvlan: fmt.Errorf("%w: no macvlan", ErrImpossible), VLAN: network.ErrUnavailable}
		ask := func(kind Kind, want error, tried int) {
			t.Helper()
			err := k.has(kind, func() map[Kind]error { tries++; return faults })
			if !errors.Is(err, want) || tries != tried {
				t.Errorf("%s: %v after %d tries; want %v after %d", kind, err, tries, want, tried)
			}
		}
		for range 3 {
			ask(Macvlan, ErrImpossible, 1)
			ask(Bridge, nil, 1)
		}
		ask(VLAN, network.ErrUnavailable, 2)
		ask(VLAN, network.ErrUnavailable, 3)
		time.Sleep(lackFor)
		faults[Macvlan] = nil // modprobe
		ask(Macvlan, nil, 4)
		faults[Macvlan] = ErrImpossible
		time.Sleep(2 * lackFor)
		ask(Macvlan, nil, 4)
	})
}
