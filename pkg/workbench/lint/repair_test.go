// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestRepair checks each file in testdata/fixes: the text after all fixes, the messages, and the remaining findings.
func TestRepair(t *testing.T) {
	for _, folder := range cases(t, "testdata/fixes/*") {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			input := Input{File: golden.Read(t, filepath.Join(folder, "before.yaml"))}
			input.Name = "profile.yaml"
			repaired, left := Repair(Options{}, []Input{input})
			after, said := input.Data, ""
			if len(repaired) > 0 {
				after, said = repaired[0].After, strings.Join(repaired[0].Said(), "\n")+"\n"
			}
			golden.Compare(t, filepath.Join(folder, "after.yaml"), string(after))
			golden.Compare(t, filepath.Join(folder, "said.txt"), said+lines(left))
		})
	}
}

// TestCheck checks that every announced fix can be made.
func TestCheck(t *testing.T) {
	input := Input{File: golden.Read(t, "testdata/fixes/durations/before.yaml")}
	report := Check(Options{}, []Input{input})
	if all, fixable := len(report.Findings), report.Fixable(); all != 4 || fixable != 3 {
		t.Errorf("%d findings, of which %d can be fixed: %s", all, fixable, report.Findings.Error())
	}
	if _, left := Repair(Options{}, []Input{input}); len(left.Findings) != 1 || left.Fixable() != 0 {
		t.Errorf("%d findings are left, of which %d can be fixed", len(left.Findings), left.Fixable())
	}
}

// lines writes each finding in a line.
func lines(r *Report) string {
	var out strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&out, "%s: %s: %s%s\n", f.Position, f.Severity, sentence(f), tag(f.Rule))
	}
	return out.String()
}

func cases(t testing.TB, pattern string) []string {
	t.Helper()
	folders, err := filepath.Glob(pattern)
	if err != nil || len(folders) == 0 {
		t.Fatalf("no test cases found: %v", err)
	}
	return folders
}

// TestWrite checks that a file is replaced as a whole, with its permissions and through a link, but not if it has
// changed since it was read.
func TestWrite(t *testing.T) {
	folder := t.TempDir()
	name, link := filepath.Join(folder, "profile.yaml"), filepath.Join(folder, "link.yaml")
	if err := errors.Join(os.WriteFile(name, []byte("before"), 0o640), os.Chmod(name, 0o640), os.Symlink("profile.yaml", link)); err != nil {
		t.Fatal(err)
	}
	if err := (Repaired{Name: link, Before: []byte("before"), After: []byte("after")}).Write(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	info, statErr := os.Lstat(link)
	if err := errors.Join(err, statErr); err != nil || string(data) != "after" || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the file is %q, the link %v, %v", data, info.Mode(), err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if err := (Repaired{Name: name, Before: []byte("before"), After: []byte("again")}).Write(); err == nil {
		t.Error("a file that changed in between is overwritten")
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 2 {
		t.Errorf("temporary files remain: %v, %v", entries, err)
	}
}

// FuzzRepair checks that fixes of any text cause no panic, keep valid YAML valid, and change only the affected text.
func FuzzRepair(f *testing.F) {
	for _, folder := range cases(f, "testdata/fixes/*") {
		data, err := os.ReadFile(filepath.Join(folder, "before.yaml"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	for _, path := range cases(f, "testdata/duplicates/*.yaml") {
		f.Add(string(golden.Read(f, path).Data))
	}
	f.Add("apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: &a ProviderProfile\n? [x]\n: *a\n---\n{a: 1, a: 1}\n")
	f.Fuzz(func(t *testing.T, data string) {
		input := Input{File: source.File{Name: "f", Data: []byte(data)}}
		r := newRepair(Options{}, []Input{input})
		for range mostRounds {
			before := r.inputs[0].Data
			holdUntouched(t, r)
			if len(r.round()) == 0 {
				return
			}
			if after := r.inputs[0].Data; isYAML(before) && !isYAML(after) {
				t.Errorf("the repaired file is not YAML: %q", after)
			}
		}
	})
}

// holdUntouched checks that applying all edits changes only the text of each edit.
func holdUntouched(t *testing.T, r *repair) {
	t.Helper()
	before := r.report.texts[r.inputs[0].Name]
	if before == nil {
		return
	}
	after, edits := before.apply(r.edits())
	rest, at := after, 0
	for _, e := range edits {
		kept := before.data[at:e.begin]
		if !bytes.HasPrefix(rest, kept) || !bytes.HasPrefix(rest[len(kept):], []byte(e.text)) {
			t.Fatalf("the repair changed more than its edit: %q", after)
		}
		rest, at = rest[len(kept)+len(e.text):], e.end
	}
	if !bytes.Equal(rest, before.data[at:]) {
		t.Errorf("the repair changed the end of the file: %q", after)
	}
}

func isYAML(data []byte) bool {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var node yaml.Node
		if err := decoder.Decode(&node); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}
