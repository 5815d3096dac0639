// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"debug/macho"
	"os"
	"path/filepath"
	"testing"
)

// TestCLIArchives checks the archives of a program for Linux and macOS: each has the program of its platform and its licence, and two
// builds give the same bytes.
func TestCLIArchives(t *testing.T) {
	var first []byte
	for range 2 {
		o := sample(t)
		o.platforms, o.cli = o.platforms[:1], []string{"linux/amd64", "darwin/arm64"}
		o.programs[0].cli = true
		mustRun(t, o)
		for _, platform := range []string{"linux-amd64", "darwin-arm64"} {
			name := "program-v1.2.3-" + platform
			data, err := os.ReadFile(filepath.Join(o.out, name+".tar.gz"))
			if err != nil {
				t.Fatal(err)
			}
			plain, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			files, _ := contents(t, plain)
			if files[name+"/licenses/example.org/program@v1.2.3/LICENSE"] == nil {
				t.Errorf("%s has no licence: %d files", name, len(files))
			}
			program := files[name+"/program"]
			mac, err := macho.NewFile(bytes.NewReader(program))
			if isMac := err == nil && mac.Cpu == macho.CpuArm64; isMac != (platform == "darwin-arm64") {
				t.Errorf("%s: is for macOS on arm64: %t (%v)", name, isMac, err)
			}
			if platform != "darwin-arm64" {
				continue
			}
			if first != nil && !bytes.Equal(first, data) {
				t.Error("two builds differ")
			}
			first = data
		}
	}
}
