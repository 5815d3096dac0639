// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	files "github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// outcome is a test with a known outcome.
type outcome golden.Outcome

func (o outcome) Run(context.Context) (golden.Outcome, error) { return golden.Outcome(o), o.Err }

func place(line int) source.Position {
	return source.Position{File: "acme/tests/t.yaml", Line: line, Column: 3}
}

// results are one of each kind.
func results() []golden.Result {
	of := func(suite, name string, line int, o golden.Outcome) golden.Result {
		return golden.Result{
			Case: &golden.Case{Suite: suite, Name: name, Position: place(line), Test: outcome(o)}, Outcome: o, Took: 1500 * time.Millisecond,
		}
	}
	return []golden.Result{
		of("acme/tests/t.yaml", "passes", 5, golden.Outcome{}),
		of("acme/tests/t.yaml", "fails & <escapes> \x01\"", 6, golden.Outcome{
			Failures: []golden.Failure{
				{At: place(7), Subject: "Deployment a", Path: "flags.x", Want: "<1>", Got: "2\n3", By: []string{"acme/profile.yaml:3 a"}},
				{At: place(8), Subject: "Deployment a", Message: "changes\nonce more", Diff: "- a\n+ b\n  c\n"},
			},
			Golden: &golden.Failure{At: source.Position{File: "want.diff"}, Message: "there is none"},
		}),
		of("acme/tests/t.yaml", "cannot be run", 9, golden.Outcome{Err: errors.New("profile.yaml:1:1: wrong\nprofile.yaml:2:1: too")}),
		of("acme/tests", "folder", 1, golden.Outcome{Err: errors.New("profile.yaml:1:1: wrong\nprofile.yaml:2:1: too")}),
	}
}

// TestReports checks the output formats of results.
func TestReports(t *testing.T) {
	for name, write := range map[string]func(w io.Writer) error{
		"report.txt":         func(w io.Writer) error { return golden.Style{Verbose: true}.Write(w, results(), 3*time.Second) },
		"report-colours.txt": func(w io.Writer) error { return golden.Style{Colour: true}.Write(w, results(), 3*time.Second) },
		"report.xml": func(w io.Writer) error {
			text, err := golden.JUnit(results())
			_, failed := w.Write(text)
			return errors.Join(err, failed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := write(&out); err != nil {
				t.Fatal(err)
			}
			files.Compare(t, filepath.Join("testdata", name), out.String())
		})
	}
}

// TestJUnitIsXML checks that an XML parser reads the report back.
func TestJUnitIsXML(t *testing.T) {
	text, err := golden.JUnit(results())
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Suites []struct {
			Cases []struct {
				Name string `xml:"name,attr"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	decoder := xml.NewDecoder(bytes.NewReader(text))
	decoder.Strict = true
	if err := decoder.Decode(&read); err != nil {
		t.Fatal(err)
	}
	if len(read.Suites) != 2 || read.Suites[0].Cases[1].Name != "fails & <escapes> \"" {
		t.Errorf("read back: %+v", read)
	}
}

// TestRun checks the order of results, the progress, and the end with the context.
func TestRun(t *testing.T) {
	var cases []*golden.Case
	for _, r := range results() {
		cases = append(cases, r.Case)
	}
	var told [][2]int
	got, err := golden.Run(t.Context(), cases, func(done, of int) { told = append(told, [2]int{done, of}) })
	if err != nil || golden.Summarize(got) != (golden.Summary{Passed: 1, Failed: 1, Errors: 2}) {
		t.Errorf("%s, %v", golden.Summarize(got), err)
	}
	if diff := cmp.Diff([][2]int{{1, 4}, {2, 4}, {3, 4}, {4, 4}}, told); diff != "" {
		t.Error(diff)
	}
	for i := range got {
		if got[i].Case != cases[i] {
			t.Errorf("result %d is that of %s", i, got[i].Case.Name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := golden.Run(ctx, cases, func(int, int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("without anybody waiting: %v", err)
	}
}

// TestUpdate checks which files are written, removed and kept.
func TestUpdate(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("differs", "old")
	write("same", "same")
	write("kept", "old")
	write("stale", "old")
	of := func(path, content string, o golden.Outcome) golden.Result {
		o.Content = []byte(content)
		if o.Err == nil && path != "same" {
			o.Golden = &golden.Failure{}
		}
		return golden.Result{Case: &golden.Case{Suite: "s", Name: path, Golden: path}, Outcome: o}
	}
	all := func() []golden.Result {
		return []golden.Result{
			of("differs", "new", golden.Outcome{}),
			of("same", "no", golden.Outcome{}),
			of("folder/new", "new", golden.Outcome{}),
			of("kept", "new", golden.Outcome{Failures: make([]golden.Failure, 1)}),
			of("broken", "", golden.Outcome{Err: errors.New("wrong")}),
		}
	}
	first := all()
	updated, err := golden.Update(t.Context(), first, []string{"stale"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"differs", "folder/new"}, updated.Written); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"stale"}, updated.Removed); diff != "" || len(updated.Kept) != 2 {
		t.Errorf("%s%v", diff, updated.Kept)
	}
	if !first[0].OK() {
		t.Error("want the updated case to pass")
	}
	left, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"differs", "folder", "kept", "same"}, left); diff != "" {
		t.Error(diff)
	}
	if hidden, _ := filepath.Glob(".*"); len(hidden) > 0 {
		t.Errorf("temporary files remain: %v", hidden)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if updated, err := golden.Update(ctx, all(), nil); err == nil || len(updated.Written) > 0 {
		t.Errorf("want no files after the context ended, got %v, %v", updated.Written, err)
	}
}

// TestSelectionOfCases checks the selection of cases, and that an empty selection is an error.
func TestSelectionOfCases(t *testing.T) {
	found := &golden.Found{Stale: []string{"x"}}
	for _, r := range results() {
		found.Cases = append(found.Cases, r.Case)
	}
	some, err := found.Only(regexp.MustCompile(`t\.yaml/(passes|cannot)`))
	if err != nil || len(some.Cases) != 2 || some.Stale != nil {
		t.Errorf("%+v, %v", some, err)
	}
	if _, err := found.Only(regexp.MustCompile("nothing")); !errors.Is(err, golden.ErrNoTests) {
		t.Error(err)
	}
}

// TestSameFailure tests that a failure which a case has in several shoots and versions is written once.
func TestSameFailure(t *testing.T) {
	var results []golden.Result
	for _, cell := range []struct{ name, got string }{{"c, plain, 1.33", "a"}, {"c, plain, 1.34", "a"}, {"c, ha, 1.34", "b"}} {
		results = append(results, golden.Result{
			Case:    &golden.Case{Suite: "t.yaml", Name: cell.name},
			Outcome: golden.Outcome{Failures: []golden.Failure{{Subject: "Deployment " + cell.name, Path: "flags.x", Want: "w", Got: cell.got}}},
		})
	}
	var out bytes.Buffer
	if err := (golden.Style{}).Write(&out, results, time.Second); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Count(text, "got  a") != 1 || strings.Count(text, "got  b") != 1 || !strings.Contains(text, "the same in c, plain, 1.34\n") {
		t.Errorf("got\n%s", text)
	}
}
