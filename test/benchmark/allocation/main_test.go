// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestMeasure runs every row of the embedded stores for a moment and checks that the table has them.
func TestMeasure(t *testing.T) {
	o := options{rows: regexp.MustCompile("."), rounds: 1, window: 20 * time.Millisecond, folder: t.TempDir()}
	var all []*result
	for _, k := range stores {
		if k.name == "etcd" {
			continue // which is another program; test/ledger has it
		}
		results, err := measure(t.Context(), o, k, 10)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, results...)
	}
	var out strings.Builder
	if err := report(&out, all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"graft on file, 10 held, 256 callers: ", "file: opening a ledger of 10 takes "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, &out)
		}
	}
}
