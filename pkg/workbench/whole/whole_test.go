// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package whole_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/whole"
)

func TestWrite(t *testing.T) {
	folder := t.TempDir()
	private, link, fresh := filepath.Join(folder, "private"), filepath.Join(folder, "link"), filepath.Join(folder, "fresh")
	if err := os.WriteFile(private, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("private", link); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]fs.FileMode{link: 0o600, fresh: whole.Mode} {
		if err := whole.Write(path, []byte("new")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != "new" || info.Mode() != mode {
			t.Errorf("%s: got %q, mode %v and error %v", path, got, info.Mode(), err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the symbolic link was replaced (%v)", err)
	}
	deep := filepath.Join(folder, "deep", "down", "file")
	if err := whole.Write(deep, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that is not there: got error %v", err)
	}
	if err := whole.Write(deep, nil); err == nil || err.Error() != "write "+deep+": no such file or directory" {
		t.Errorf("the error names another file: %v", err)
	}
	if err := whole.WriteDeep(deep, nil); err != nil {
		t.Errorf("writing into a folder that must be created fails: %v", err)
	}
	if err := whole.Write(filepath.Join(fresh, "file"), nil); err == nil {
		t.Error("a file was written into a file")
	}
	if err := whole.Write(folder, []byte("new")); err == nil {
		t.Error("a folder was written as a file")
	}
	if err := whole.Write(os.DevNull, []byte("new")); err != nil {
		t.Errorf("writing to a device fails: %v", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 4 {
		t.Errorf("got %d entries and error %v: nothing else may be left", len(entries), err)
	}
}
