// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// TestListingOfAddressInQuarantine checks that an address in quarantine is listed with the end of the quarantine and the
// last owner.
func TestListingOfAddressInQuarantine(t *testing.T) {
	var out strings.Builder
	l := newListing(&out, false)
	e := ledger.Entry{
		Resource: ledger.Resource{Pool: "p", Address: netip.MustParseAddr("10.0.0.9")}, Until: time.Unix(2e9, 0), Last: network.Owner{Contract: "docker", Key: "k"},
	}
	if err := l.add(e); err != nil {
		t.Fatal(err)
	}
	if err := l.end(); err != nil {
		t.Fatal(err)
	}
	want := "OWNER  POOL  ADDRESSES  MAC  VLAN  STATE                                  SINCE  HOLDER\n" +
		"-      p     10.0.0.9   -    -     quarantine until 2033-05-18T03:33:20Z  -      last docker/k\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestListingEscapesControlCharacters checks that names cannot send control characters to a terminal.
func TestListingEscapesControlCharacters(t *testing.T) {
	var out strings.Builder
	l := newListing(&out, false)
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
