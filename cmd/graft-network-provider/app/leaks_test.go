// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/remote"
)

// hold writes an allocation of the pool overlay with a holder and a start time into a ledger without a server.
func (n *node) hold(t *testing.T, owners map[string]time.Time) {
	t.Helper()
	store, err := file.Open(n.path("ledger"), file.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var dynamic netipx.IPSetBuilder
	dynamic.AddRange(netipx.MustParseIPRange("10.0.0.8-10.0.0.9"))
	set, err := dynamic.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	book, err := ledger.Open(t.Context(), store, ledger.Pool{Name: "overlay", Subnets: []ledger.Subnet{{Prefix: netip.MustParsePrefix("10.0.0.0/24"), Dynamic: set}}})
	if err != nil {
		t.Fatal(err)
	}
	for key, since := range owners {
		if _, _, err := book.Reserve(t.Context(), ledger.Intent{
			Owner: network.Owner{Contract: "dranet", Key: key}, Pool: "overlay", State: network.Bound, Now: since, Holder: network.Holder{Kind: "ResourceClaim", UID: key},
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLeaksWithoutACluster checks that old allocations are reported and listed, but not freed, without a cluster to ask
// for their owners.
func TestLeaksWithoutACluster(t *testing.T) {
	n := newNode(t)
	n.profile(t, "10.0.0.8-10.0.0.9", "")
	n.hold(t, map[string]time.Time{"old": time.Now().Add(-1000 * time.Hour), "young": time.Now().Add(-time.Hour)})
	n.start(t)
	n.Eventually(t, func() bool { return strings.Contains(n.Log.String(), "An allocation is old") })
	if said := n.Log.String(); strings.Count(said, "Without kubernetes in the configuration") != 1 {
		t.Errorf("the log is %s", said)
	}
	if said := n.Log.String(); strings.Count(said, "An allocation is old") != 1 || !strings.Contains(said, "dranet/old") {
		t.Errorf("the log is %s", said)
	}
	client, err := remote.Dial("unix://" + n.path("ledger.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 2 {
		var found []string
		err := client.GC(t.Context(), true, func(s gc.Suspect) error {
			found = append(found, s.Allocation.Owner.Key+" "+string(s.Reason))
			return nil
		})
		if err != nil || strings.Join(found, ", ") != "old old" {
			t.Errorf("a dry run: %v, %v", found, err)
		}
	}
	if err := client.GC(t.Context(), false, func(gc.Suspect) error { return nil }); err == nil || !strings.Contains(err.Error(), "no Kubernetes client") {
		t.Errorf("freeing: %v", err)
	}
	if metrics := n.metrics(t); !strings.Contains(metrics, `graft_network_leaks{reason="old"} 1`) || !strings.Contains(metrics, "graft_network_leaks_unchecked 2") {
		t.Errorf("the metrics are %s", metrics)
	}
	n.Stop(t)
}
