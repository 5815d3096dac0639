// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNamed(t *testing.T) {
	for arguments, want := range map[string][]string{
		"":                            nil,
		"-ha -kubernetes 1.33.5":      nil,
		"-profile a --profile b":      {"a", "b"},
		"-profile=a --profile=b -ha":  {"a", "b"},
		"-profile a -help":            nil,
		"-annotations profile=a -h":   nil,
		"-annotations -x -profile a ": {"a"},
	} {
		if diff := cmp.Diff(want, named(strings.Fields(arguments))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", arguments, diff)
		}
	}
}

func TestRun(t *testing.T) {
	wrong := filepath.Join(t.TempDir(), "p.yaml")
	text := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\nmetadata: {name: p}\nproviders: [acme]\ncontrlplane: {}\n"
	if err := os.WriteFile(wrong, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path, want string
		status     int
	}{
		{path: "../../../example/profiles/local/profile.yaml"},
		{path: wrong, want: `p.yaml:5:1: unknown field "contrlplane"`, status: 1},
		{path: wrong + "x", want: "no such file", status: 1},
		{path: t.TempDir(), want: "no profile was found", status: 1},
	} {
		var out bytes.Buffer
		if status := run([]string{"-profile", test.path}, &out); status != test.status || !strings.Contains(out.String(), test.want) || status == 0 && out.Len() > 0 {
			t.Errorf("%s: status %d, %s", test.path, status, out.String())
		}
	}
}
