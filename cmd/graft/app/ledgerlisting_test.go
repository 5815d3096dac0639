// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// TestListingIsPlain holds that names do nothing to a terminal.
func TestListingIsPlain(t *testing.T) {
	var out strings.Builder
	l := newListing(&out, "table", false)
	a := network.Allocation{
		Owner: network.Owner{Contract: "dranet", Key: "c1/\x1b[31m"}, Pool: "p", State: network.Bound, Holder: network.Holder{Name: "a\nb\u202e", Namespace: "ä"},
	}
	if err := l.add(ledger.Entry{Allocation: &a}); err != nil {
		t.Fatal(err)
	}
	if err := l.end(); err != nil {
		t.Fatal(err)
	}
	want := "OWNER            POOL  ADDRESSES  MAC  VLAN  STATE  SINCE                 HOLDER\n" +
		"dranet/c1/?[31m  p     -          -    -     bound  0001-01-01T00:00:00Z  ä/a?b?\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
