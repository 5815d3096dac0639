// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
)

// TestRead checks that tests may share files below the folder of their profile, and read no others.
func TestRead(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, "in", filepath.FromSlash(name)) }
	if err := errors.Join(os.MkdirAll(at("tests/a"), 0o755), os.MkdirAll(at("tests/b"), 0o755), os.WriteFile(filepath.Join(base, "token"), []byte("x"), 0o600),
		os.WriteFile(at("profile.yaml"), nil, 0o600), os.WriteFile(at("tests/a/in.yaml"), []byte("a"), 0o600),
		os.Symlink("../a/in.yaml", at("tests/b/in.yaml")), os.Symlink("../../../token", at("tests/b/case.yaml")),
		os.Symlink("/dev/zero", at("tests/b/want.yaml")), syscall.Mkfifo(at("tests/b/want.diff"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if data, err := golden.Read(at("tests/b/in.yaml")); err != nil || string(data) != "a" {
		t.Errorf("want the file of the case, got %q, %v", data, err)
	}
	for name, want := range map[string]error{"case.yaml": disk.ErrOutside, "want.yaml": disk.ErrOutside, "want.diff": disk.ErrNotRegular} {
		path := at("tests/b/" + name)
		if data, err := golden.Read(path); !errors.Is(err, want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}
