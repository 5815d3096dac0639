// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/archive"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// TestVerify plants faults: each is found, and an export and an import correct those that have a single solution.
func TestVerify(t *testing.T) {
	content, err := os.ReadFile("testdata/faults.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		Healthy map[string]string
		Cases   []struct {
			Name  string
			Rows  map[string]*string
			Found []string
		}
	}
	if err := yaml.Unmarshal(content, &data); err != nil || len(data.Cases) == 0 {
		t.Fatal(err)
	}
	for _, c := range data.Cases {
		t.Run(c.Name, func(t *testing.T) {
			rows := maps.Clone(data.Healthy)
			for key, value := range c.Rows {
				if delete(rows, key); value != nil {
					rows[key] = *value
				}
			}
			store := storeOf(t, rows)
			report := verify(t, store, 0)
			if diff := cmp.Diff(c.Found, found(report)); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
			if slices.ContainsFunc(c.Found, func(line string) bool { return !strings.HasSuffix(line, corrected) }) {
				return
			}
			imported := rewrite(t, store)
			if left := found(verify(t, imported, 0)); left != nil {
				t.Errorf("after an import: %q", left)
			}
			if _, err := ledger.Open(t.Context(), imported, pools(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestVerifyMany checks the limit of reported faults and the note about further ones.
func TestVerifyMany(t *testing.T) {
	const count = 1000
	rows := map[string]string{"format": "2"}
	for i := range count {
		address := fmt.Sprintf("10.0.%d.%d", i/256, i%256)
		rows[fmt.Sprintf("owner/test/%04d", i)] = fmt.Sprintf(
			`{"owner":{"contract":"test","key":"%04d"},"pool":"pool","state":"bound","addresses":[%q],"since":"2030-01-02T03:04:05Z"}`, i, address)
	}
	store := storeOf(t, rows)
	report := verify(t, store, 10)
	if len(report.Faults) != 10 || !report.More {
		t.Errorf("got %d faults, more: %v, %+v", len(report.Faults), report.More, report.Faults[:1])
	}
	report = verify(t, store, 0)
	if report.Rows != count || report.Allocations != count || len(report.Faults) != count || report.More {
		t.Errorf("got %d rows, %d faults, more: %v", report.Rows, len(report.Faults), report.More)
	}
	if report = verify(t, rewrite(t, store), 0); len(report.Faults) != 0 || report.Held != count {
		t.Errorf("want no faults and all allocations, got %d faults, %d held", len(report.Faults), report.Held)
	}
}

// TestVerifyDuringWrites checks that concurrent writes cause no findings.
func TestVerifyDuringWrites(t *testing.T) {
	store := storeOf(t, nil)
	l, err := ledger.Open(t.Context(), store, pools(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			in := intent()
			in.Owner.Key = fmt.Sprint(i % 5)
			_, _, _ = l.Reserve(context.WithoutCancel(ctx), in)
			_ = l.Delete(context.WithoutCancel(ctx), in.Owner, in.Now, in.Now)
		}
	}()
	for range 50 {
		if report := verify(t, store, 0); len(report.Faults) > 0 {
			t.Errorf("found %q", found(report))
		}
	}
	stop()
	<-done
}

// TestVerifyNewer checks that rows of a newer version are skipped.
func TestVerifyNewer(t *testing.T) {
	if _, err := ledger.Verify(t.Context(), storeOf(t, map[string]string{"format": "3"}), 0); !errors.Is(err, ledger.ErrFormat) {
		t.Errorf("got error %v, want %v", err, ledger.ErrFormat)
	}
}

// TestMarkReleasing checks that the owner's row becomes releasing and the rows of its resources stay.
func TestMarkReleasing(t *testing.T) {
	store := storeOf(t, nil)
	l, err := ledger.Open(t.Context(), store, pools(t))
	if err != nil {
		t.Fatal(err)
	}
	a, _, err := l.Reserve(t.Context(), intent())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.MarkReleasing(t.Context(), store, a.Owner); err != nil {
		t.Fatal(err)
	}
	if l, err = ledger.Open(t.Context(), store, pools(t)); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Get(t.Context(), a.Owner); err != nil || got.State != network.Releasing {
		t.Errorf("got %+v, %v", got, err)
	}
	if report := verify(t, store, 0); len(report.Faults) > 0 {
		t.Errorf("found %q", found(report))
	}
	if _, err := ledger.MarkReleasing(t.Context(), store, network.Owner{Contract: "test", Key: "b"}); !errors.Is(err, network.ErrNotHeld) {
		t.Errorf("got error %v, want %v", err, network.ErrNotHeld)
	}
}

// corrected marks faults that an import corrects.
const corrected = " (an import corrects it)"

// rewrite exports a ledger, and imports it into a new one.
func rewrite(t *testing.T, store ledger.Store) ledger.Store {
	t.Helper()
	var text bytes.Buffer
	if _, err := archive.Export(t.Context(), store, &text, nil); err != nil {
		t.Fatal(err)
	}
	into := memory.Open(t)
	if _, err := archive.Import(t.Context(), func() (ledger.Store, error) { return into, nil }, &text); err != nil {
		t.Fatal(err)
	}
	return into
}

// storeOf is a store in memory with rows.
func storeOf(t *testing.T, rows map[string]string) ledger.Store {
	t.Helper()
	store := memory.Open(t)
	var changes []ledger.Change
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		changes = append(changes, ledger.Change{Key: key, Value: []byte(rows[key])})
	}
	if err := store.Commit(t.Context(), changes...); err != nil {
		t.Fatal(err)
	}
	return store
}

func verify(t *testing.T, store ledger.Store, maximum int) *ledger.Report {
	t.Helper()
	report, err := ledger.Verify(t.Context(), store, maximum)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// found are the faults in a line each.
func found(report *ledger.Report) []string {
	var lines []string
	for _, f := range report.Faults {
		line := f.Key + ": " + f.Problem
		if strings.HasPrefix(f.Remedy, "export the ledger, and import it") {
			line += corrected
		}
		if f.Remedy == "" {
			line += " without a remedy"
		}
		lines = append(lines, line)
	}
	return lines
}
