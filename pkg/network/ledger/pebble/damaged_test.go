// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package pebble_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/pebble"
)

// TestDamaged holds that files that are not as they were written are told apart from a disk that cannot be written, and that no row of them is read.
func TestDamaged(t *testing.T) {
	for name, c := range map[string]struct {
		pattern string
		harm    func(t *testing.T, file string)
	}{
		"changed bytes":           {"*.sst", change},
		"a table is missing":      {"*.sst", remove},
		"the manifest is missing": {"MANIFEST-*", remove},
	} {
		t.Run(name, func(t *testing.T) {
			original := filled(t)
			files, err := filepath.Glob(filepath.Join(original, c.pattern))
			if err != nil || len(files) == 0 {
				t.Fatalf("there are no files %s (%v)", c.pattern, err)
			}
			c.harm(t, files[0])
			for _, o := range []pebble.Options{{ReadOnly: true}, {}} {
				folder := filepath.Join(t.TempDir(), "ledger") // who ends as a program does keeps the lock
				if err := os.CopyFS(folder, os.DirFS(original)); err != nil {
					t.Fatal(err)
				}
				rows, err := readAll(folder, o)
				if !errors.Is(err, pebble.ErrDamaged) || !strings.Contains(err.Error(), folder) {
					t.Errorf("%d rows were read, and the error is %v, not %v", rows, err, pebble.ErrDamaged)
				}
			}
		})
	}
}

// filled is a folder with rows in a table.
func filled(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	store, err := pebble.Open(folder, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	changes := make([]ledger.Change, 0, 1000)
	for i := range cap(changes) {
		changes = append(changes, ledger.Change{Key: fmt.Sprintf("key/%04d", i), Value: fmt.Appendf(nil, "value of %d", i)})
	}
	if err := store.Commit(t.Context(), changes...); err != nil {
		t.Fatal(err)
	}
	if err := store.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return folder
}

// change writes over 20 bytes in the middle of a file.
func change(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		content[len(content)/2+i] ^= 0xff
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

// readAll opens a folder and reads all rows of it, until the store ends with an error.
func readAll(folder string, o pebble.Options) (rows int, err error) {
	ended := make(chan error, 8)
	o.Die = func(why error) {
		ended <- why
		runtime.Goexit() // as the end of the program, it does not return
	}
	go func() {
		store, err := pebble.Open(folder, o)
		if err == nil {
			err = store.Scan(context.Background(), "", func(_, _ []byte) error {
				rows++
				return nil
			})
			err = errors.Join(err, store.Close())
		}
		ended <- err
	}()
	return rows, <-ended
}
