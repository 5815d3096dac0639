// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestMain runs the test binary as a server when a test starts it.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args[1:], "-serve") {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestMoment measures for a moment and checks all output except the figures: all ways answer all questions equally.
func TestMoment(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), options{rounds: 1, window: time.Nanosecond, rows: "."}, &out); err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(out.String(), "\n")
	got := regexp.MustCompile(`\| [0-9.]+ `).ReplaceAllString(tables, "| N ")
	got = regexp.MustCompile(`[0-9.]+ x `).ReplaceAllString(got, "N x ")
	golden.Compare(t, "testdata/moment.txt", got)
}

// TestRows checks the selection of rows, and the error of a wrong selection.
func TestRows(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), options{rounds: 1, window: time.Nanosecond, rows: "^health, 2 kB$"}, &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "x handwritten Lua\n"); n != 1 {
		t.Errorf("%d rows:\n%s", n, &out)
	}
	if err := run(t.Context(), options{rows: "("}, &out); err == nil {
		t.Error("this is no expression")
	}
}

// TestSizes checks that objects have the size of their rows, within a tenth.
func TestSizes(t *testing.T) {
	got := map[int]int{}
	for _, kilobytes := range sizes {
		machines, err := newMachines(kilobytes*1000, 3)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(machines)
		if err != nil {
			t.Fatal(err)
		}
		got[kilobytes] = (len(raw) + kilobytes*50) / (kilobytes * 100)
	}
	if diff := cmp.Diff(map[int]int{2: 10, 20: 10, 200: 10}, got); diff != "" {
		t.Error(diff)
	}
}

// TestRatios checks the figures of several rounds: the median of the ratios of each round.
func TestRatios(t *testing.T) {
	const us = time.Microsecond
	of := func(graft, floor, client, work, hand, generated time.Duration) round {
		return round{
			floor: cost{took: floor}, graft: cost{took: graft}, client: cost{took: client}, work: cost{cpu: work},
			hand: cost{took: hand, cpu: hand}, generated: cost{cpu: generated},
		}
	}
	r := &row{rounds: []round{
		of(30*us, 20*us, 40*us, us, 10*us, 20*us), of(90*us, 10*us, 10*us, 9*us, 10*us, 10*us),
		of(11*us, 10*us, 8*us, us, 4*us, 16*us),
	}}
	if diff := cmp.Diff([]float64{1.5, 2, 0.25, 2}, []float64{r.trips(), r.scripts(), r.works(), r.calls()}); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkAnswer is Graft's work alone, and BenchmarkFloor the reading of the same message, for profiles.
func BenchmarkAnswer(b *testing.B) {
	w, err := newWork()
	if err != nil {
		b.Fatal(err)
	}
	defer w.close()
	each(b, func(body []byte) error { return w.answer(body) })
}

func BenchmarkFloor(b *testing.B) {
	each(b, func(body []byte) error {
		d, err := document.Parse(body)
		d.Release()
		return err
	})
}

// each does something with the body of each question.
func each(b *testing.B, do func(body []byte) error) {
	b.Helper()
	program, err := newProgram()
	if err != nil {
		b.Fatal(err)
	}
	for _, a := range asked {
		for _, kilobytes := range sizes {
			q, err := newQuestion(program, a.operation, a.name, kilobytes)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%dkB", a.operation, kilobytes), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := do(q.body); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
