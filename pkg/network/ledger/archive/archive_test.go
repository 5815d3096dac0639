// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/archive"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// TestRoundTrip checks that the export of an imported ledger is the same file, row by row.
func TestRoundTrip(t *testing.T) {
	from, to := filled(t, 700), memory.Open(t)
	first, summary := export(t, from)
	if summary.Allocations != 600 || summary.Quarantined != 300 || !summary.Even {
		t.Errorf("exported %+v", summary)
	}
	read, err := archive.Import(t.Context(), into(to), strings.NewReader(first))
	if err != nil || read != summary.Summary {
		t.Fatalf("imported %+v, %v", read, err)
	}
	if again, _ := export(t, to); first != again {
		t.Errorf("the export differs after an import:\n%s", cmp.Diff(first, again))
	}
	if diff := cmp.Diff(rows(t, from), rows(t, to)); diff != "" {
		t.Errorf("rows (-exported +imported):\n%s", diff)
	}
	if _, err := archive.Import(t.Context(), into(to), strings.NewReader(first)); !errors.Is(err, ledger.ErrNotEmpty) {
		t.Errorf("a second time: got error %v, want %v", err, ledger.ErrNotEmpty)
	}
}

// TestImportsExportsOfEarlierBuilds imports an export in which quarantined resources are called resting.
func TestImportsExportsOfEarlierBuilds(t *testing.T) {
	from, to := filled(t, 700), memory.Open(t)
	current, summary := export(t, from)
	earlier := strings.ReplaceAll(current, `"quarantined":`, `"resting":`)
	end := strings.LastIndex(strings.TrimSuffix(earlier, "\n"), "\n") + 1
	sum := sha256.Sum256([]byte(earlier[:end]))
	earlier = strings.Replace(earlier, summary.SHA256, hex.EncodeToString(sum[:]), 1)
	if _, err := archive.Import(t.Context(), into(to), strings.NewReader(earlier)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows(t, from), rows(t, to)); diff != "" {
		t.Errorf("rows (-exported +imported):\n%s", diff)
	}
}

// TestExportSkipsUnreadableRowsIfPermitted checks that an export skips unreadable rows only if permitted, and reports rows that contradict each
// other.
func TestExportSkipsUnreadableRowsIfPermitted(t *testing.T) {
	store := filled(t, 3)
	plant(t, store, "owner/test/broken", "{")
	var broken *ledger.BrokenRow
	if _, err := archive.Export(t.Context(), store, io.Discard, nil); !errors.As(err, &broken) || broken.Key != "owner/test/broken" {
		t.Errorf("got error %v", err)
	}
	var left []string
	done, err := archive.Export(t.Context(), store, io.Discard, func(b *ledger.BrokenRow) { left = append(left, b.Key) })
	if diff := cmp.Diff([]string{"owner/test/broken"}, left); diff != "" || err != nil || done.Broken != 1 || !done.Even {
		t.Errorf("%s%+v, %v", diff, done, err)
	}
	plant(t, store, "mac/02:00:00:00:00:01", "=test/nobody")
	done, err = archive.Export(t.Context(), store, io.Discard, func(*ledger.BrokenRow) {})
	if err != nil || done.Even {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestRecords checks that records of other packages are imported and rejected like all rows.
func TestRecords(t *testing.T) {
	store, key := filled(t, 300), "record/n/networks/a"
	plant(t, store, key, `{"id":"<a>"}`)
	text, summary := export(t, store)
	if summary.Records != 1 || summary.Allocations != 258 {
		t.Errorf("exported %+v", summary)
	}
	to := memory.Open(t)
	if read, err := archive.Import(t.Context(), into(to), strings.NewReader(text)); err != nil || read != summary.Summary {
		t.Fatalf("imported %+v, %v", read, err)
	}
	if diff := cmp.Diff(rows(t, store), rows(t, to)); diff != "" {
		t.Errorf("rows (-exported +imported):\n%s", diff)
	}
	report, err := ledger.Verify(t.Context(), to, 0)
	if err != nil || report.Records != 1 || report.Held != 258*3 || len(report.Faults) > 0 {
		t.Errorf("verified %+v, %v", report, err)
	}
}

// TestTwoOwners checks that an archive with two owners of one address is rejected completely.
func TestTwoOwners(t *testing.T) {
	for _, second := range []int{1, 500} {
		from := memory.Open(t)
		for i := range 600 {
			address := netip.AddrFrom4([4]byte{10, 0, byte(i / 256), byte(i % 256)})
			if i == second {
				address = netip.AddrFrom4([4]byte{10, 0, 0, 0})
			}
			plant(t, from, fmt.Sprintf("owner/t/%04d", i), fmt.Sprintf(
				`{"owner":{"contract":"t","key":"%04d"},"pool":"p","state":"bound","addresses":[%q],"since":"2030-01-02T03:04:05Z"}`, i, address))
		}
		text, _ := export(t, from)
		store := memory.Open(t)
		_, err := archive.Import(t.Context(), into(store), strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), ": it holds 10.0.0.0 of the pool p, which line ") {
			t.Errorf("got error %v", err)
		}
		if diff := cmp.Diff([]string(nil), rows(t, store)); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
	}
}

// TestInterrupted checks that a ledger with an interrupted import cannot be opened, and that only the same file can
// complete the import.
func TestInterrupted(t *testing.T) {
	text, summary := export(t, filled(t, 500))
	other, _ := export(t, filled(t, 2))
	for _, after := range []int32{1, 2, 5, 9} {
		store := &failing{Store: memory.Open(t)}
		store.left.Store(after)
		if _, err := archive.Import(t.Context(), into(store), strings.NewReader(text)); !errors.Is(err, errPower) {
			t.Fatalf("got error %v", err)
		}
		store.left.Store(1 << 30)
		if _, err := ledger.Open(t.Context(), store); !errors.Is(err, ledger.ErrImporting) && !errors.Is(err, ledger.ErrFormat) {
			t.Errorf("after %d commits: got error %v, want %v", after, err, ledger.ErrImporting)
		}
		if _, err := archive.Import(t.Context(), into(store), strings.NewReader(other)); !errors.Is(err, ledger.ErrImporting) {
			t.Errorf("after %d commits, another file: got error %v, want %v", after, err, ledger.ErrImporting)
		}
		if read, err := archive.Import(t.Context(), into(store), strings.NewReader(text)); err != nil || read != summary.Summary {
			t.Errorf("repeated after %d commits: %+v, %v", after, read, err)
		}
		if again, _ := export(t, store); again != text {
			t.Errorf("repeated after %d commits, something else is there", after)
		}
	}
}

var errPower = errors.New("the power is gone")

// failing is a store that fails after so many commits.
type failing struct {
	ledger.Store
	left atomic.Int32
}

func (f *failing) Commit(ctx context.Context, changes ...ledger.Change) error {
	if f.left.Add(-1) < 0 {
		return errPower
	}
	return f.Store.Commit(ctx, changes...)
}

// filled returns a store with allocations. Every seventh one is released and in quarantine.
func filled(t *testing.T, count int) ledger.Store {
	t.Helper()
	var b netipx.IPSetBuilder
	b.AddRange(netipx.MustParseIPRange("10.0.0.1-10.0.255.254"))
	dynamic, err := b.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	store := memory.Open(t)
	l, err := ledger.Open(t.Context(), store, ledger.Pool{
		Name: "pool", FirstVLAN: 1, LastVLAN: 4000, MACPrefix: []byte{2, 0x11},
		Subnets: []ledger.Subnet{{Prefix: netip.MustParsePrefix("10.0.0.0/16"), Dynamic: dynamic}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range count {
		owner := network.Owner{Contract: "test", Key: fmt.Sprintf("%04d", i)}
		in := ledger.Intent{Owner: owner, Pool: "pool", State: network.Bound, Trunk: network.Trunk{Node: "n", MAC: fmt.Sprint(i % 3)}, Now: now}
		in.Holder = network.Holder{Kind: "Pod", Namespace: "<default>", Name: owner.Key}
		if _, _, err := l.Reserve(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if i%7 == 6 {
			if err := l.Delete(t.Context(), owner, now, now.Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return store
}

func export(t *testing.T, store ledger.Store) (string, archive.Exported) {
	t.Helper()
	var out bytes.Buffer
	summary, err := archive.Export(t.Context(), store, &out, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), summary
}

func into(store ledger.Store) func() (ledger.Store, error) {
	return func() (ledger.Store, error) { return store, nil }
}

func plant(t *testing.T, store ledger.Store, key, value string) {
	t.Helper()
	if err := store.Commit(t.Context(), ledger.Change{Key: key, Value: []byte(value)}); err != nil {
		t.Fatal(err)
	}
}

func rows(t *testing.T, store ledger.Store) []string {
	t.Helper()
	var out []string
	err := store.Scan(t.Context(), "", func(key, value []byte) error {
		out = append(out, string(key)+"="+string(value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
