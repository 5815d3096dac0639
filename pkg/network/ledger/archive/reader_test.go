// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/archive"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// TestMistakes checks the errors of invalid files.
func TestMistakes(t *testing.T) {
	content, err := os.ReadFile("testdata/mistakes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Name, Text, Error string }
	if err := yaml.Unmarshal(content, &cases); err != nil || len(cases) == 0 {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			_, err := archive.Import(t.Context(), into(memory.Open(t)), strings.NewReader(summed(c.Text)))
			if err == nil {
				t.Fatal("no error, want one")
			}
			if diff := cmp.Diff("checking the export: "+c.Error, err.Error()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	long := `{"format":"graft-ledger","version":1}` + "\n" + strings.Repeat("x", 2<<20)
	if _, err := archive.Import(t.Context(), into(memory.Open(t)), strings.NewReader(long)); err == nil || !strings.Contains(err.Error(), ": line 2: ") {
		t.Errorf("a line that is too long: %v", err)
	}
}

// summed writes the checksum of the lines before it for SUM.
func summed(text string) string {
	if before, _, ok := strings.Cut(text, `{"end"`); ok {
		text = strings.Replace(text, "SUM", fmt.Sprintf("%x", sha256.Sum256([]byte(before))), 1)
	}
	return text
}

// FuzzReader checks that a file that is read without an error is written again unchanged, and that all other files give
// errors.
func FuzzReader(f *testing.F) {
	content, err := os.ReadFile("testdata/mistakes.yaml")
	if err != nil {
		f.Fatal(err)
	}
	var cases []struct{ Text string }
	if err := yaml.Unmarshal(content, &cases); err != nil {
		f.Fatal(err)
	}
	for _, c := range cases {
		f.Add([]byte(c.Text))
	}
	f.Add([]byte(`{"format":"graft-ledger","version":1}
{"allocation":{"owner":{"contract":"d","key":"a"},"pool":"p","state":"bound","addresses":["10.0.0.1"],"since":"2030-01-02T03:04:05Z"}}
{"quarantined":{"trunk":{"node":"n","mac":"m"},"vlan":7,"until":"2030-01-02T03:04:05Z"}}
{"end":{"allocations":1,"quarantined":1,"sha256":"SUM"}}
`))
	f.Add([]byte(`{"format":"graft-ledger","version":2}
{"record":{"key":"record/-/networks/a/b","value":{"id":"<a>"}}}
{"end":{"allocations":0,"quarantined":0,"records":1,"sha256":"SUM"}}
`))
	f.Fuzz(func(t *testing.T, content []byte) {
		store := memory.Open(t)
		read, err := archive.Import(t.Context(), into(store), strings.NewReader(summed(string(content))))
		if err != nil {
			return
		}
		var again bytes.Buffer
		written, err := archive.Export(t.Context(), store, &again, nil)
		if err != nil {
			t.Fatal(err)
		}
		reread, err := archive.Import(t.Context(), into(memory.Open(t)), &again)
		if err != nil {
			t.Fatalf("the rewritten export cannot be read: %v", err)
		}
		if reread != written.Summary || read.Allocations != written.Allocations || read.Quarantined != written.Quarantined || read.Records != written.Records {
			t.Errorf("read %+v, written %+v, read again %+v", read, written, reread)
		}
	})
}
