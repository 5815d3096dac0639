// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/archive"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

// TestArchive moves a ledger from one part of etcd to another, and verifies and fixes it there.
func TestArchive(t *testing.T) {
	const count = 100
	c := cluster.Start(t, 1)
	from, to := open(t, c, "/from"), open(t, c, "/to")
	l, err := ledger.Open(t.Context(), from, pool(t))
	if err != nil {
		t.Fatal(err)
	}
	var intents []ledger.Intent
	for i := range count {
		intents = append(intents, ledger.Intent{
			Owner: network.Owner{Contract: "test", Key: fmt.Sprint(i)}, Pool: pool(t).Name, State: network.Bound, Now: time.Unix(1e9, 0),
		})
	}
	for _, in := range intents {
		if _, _, err := l.Reserve(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	var text bytes.Buffer
	done, err := archive.Export(t.Context(), from, &text, archive.ExportOptions{})
	if err != nil || done.Allocations != count || !done.Even {
		t.Fatalf("exported %+v, %v", done, err)
	}
	into := func() (ledger.Store, error) { return to, nil }
	if _, err := archive.Import(t.Context(), into, bytes.NewReader(text.Bytes()), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Import(t.Context(), into, bytes.NewReader(text.Bytes()), nil); !errors.Is(err, archive.ErrNotEmpty) {
		t.Errorf("a second time: got error %v, want %v", err, archive.ErrNotEmpty)
	}
	var again bytes.Buffer
	if _, err := archive.Export(t.Context(), to, &again, archive.ExportOptions{}); err != nil || again.String() != text.String() {
		t.Errorf("the export of what was imported is another one (%v)", err)
	}
	plant := []ledger.Change{{Key: "mac/02:00:00:00:00:01", Value: []byte("=test/nobody")}}
	if err := to.Commit(t.Context(), plant...); err != nil {
		t.Fatal(err)
	}
	for _, faults := range []int{1, 0} {
		report, err := ledger.Verify(t.Context(), to, ledger.VerifyOptions{Now: time.Unix(1e9, 0)})
		if err != nil || len(report.Faults) != faults || report.Allocations != count {
			t.Fatalf("verified %+v, %v; want %d faults", report, err, faults)
		}
		if fixed, err := ledger.Repair(t.Context(), to, report); err != nil || fixed != faults {
			t.Errorf("fixed %d, %v", fixed, err)
		}
	}
	found := 0
	query := ledger.Query{Address: netip.MustParseAddr("10.0.0.5")}
	if err := ledger.Search(t.Context(), to, query, func(ledger.Entry) error { found++; return nil }); err != nil || found != 1 {
		t.Errorf("found %d, %v", found, err)
	}
}
