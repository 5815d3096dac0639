// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
)

// TestRestartedContainerGetsItsAddress checks that a restarted container gets its named address during the quarantine.
func TestRestartedContainerGetsItsAddress(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	_, served := w.pools()
	of := served["spare"]
	of.Quarantine = time.Minute
	served["spare"] = of
	w.service.Configure(served, nil)
	if err := w.Activate(ctx); err != nil {
		t.Fatal(err)
	}
	pool, err := w.RequestPool(ctx, ipam.PoolRequest{Space: ipam.LocalSpace, Subnet: netip.MustParsePrefix("10.65.0.0/24"), Options: map[string]string{"pool": "spare"}})
	if err != nil {
		t.Fatal(err)
	}
	nine := netip.MustParseAddr("10.65.0.9")
	for range 3 {
		if _, err := w.RequestAddress(ctx, pool.ID, nine, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.foreign("spare", nine.String()); !errors.Is(err, network.ErrTaken) {
			t.Errorf("while it is held, another contract: got error %v", err)
		}
		if err := w.ReleaseAddress(ctx, pool.ID, nine); err != nil {
			t.Fatal(err)
		}
		if err := w.foreign("spare", nine.String()); !errors.Is(err, network.ErrTaken) || !strings.Contains(err.Error(), "in quarantine until") {
			t.Errorf("while it rests, another contract: got error %v", err)
		}
	}
	w.clock.Step(2 * time.Minute)
	if _, err := w.ledger.Expire(ctx, w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	if err := w.foreign("spare", nine.String()); err != nil {
		t.Error(err)
	}
	w.even()
}
