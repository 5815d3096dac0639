// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/ledgertest"
)

func TestStore(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledgertest.Open {
		folder := t.TempDir()
		return func(t *testing.T) ledger.Store { return open(t, folder, file.Options{}) }
	})
}

func open(t *testing.T, folder string, o file.Options) *file.Store {
	t.Helper()
	store, err := file.Open(folder, o)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func closeStore(t *testing.T, store *file.Store) {
	t.Helper()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, store ledger.Store, key, value string) {
	t.Helper()
	if err := store.Commit(t.Context(), ledger.Change{Key: key, Value: []byte(value)}); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesFolderHeldByAnother(t *testing.T) {
	folder := t.TempDir()
	store := open(t, folder, file.Options{})
	for _, o := range []file.Options{{}, {Existing: true}, {ReadOnly: true}} {
		if second, err := file.Open(folder, o); !errors.Is(err, file.ErrHeld) {
			t.Errorf("%+v: got %v and %v, want %v", o, second, err, file.ErrHeld)
		}
	}
	closeStore(t, store)
	one, two := open(t, folder, file.Options{ReadOnly: true}), open(t, folder, file.Options{ReadOnly: true})
	closeStore(t, one)
	closeStore(t, two)
}

func TestOpenCreatesNothingWhereALedgerIsExpected(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, filepath.Join(folder, "none"), filepath.Join(folder, "file")} {
		for _, o := range []file.Options{{Existing: true}, {ReadOnly: true}} {
			if _, err := file.Open(path, o); !errors.Is(err, file.ErrMissing) {
				t.Errorf("%s: got error %v, want %v", path, err, file.ErrMissing)
			}
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("the folder has %v (error %v), want one file", left, err)
	}
}

func TestOpenRefusesOlderFormat(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "MANIFEST-000001"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []file.Options{{}, {ReadOnly: true}} {
		if _, err := file.Open(folder, o); !errors.Is(err, file.ErrOlder) {
			t.Errorf("%+v: got error %v, want %v", o, err, file.ErrOlder)
		}
	}
}

// TestOpenRefusesOtherFiles checks that Open neither follows a link out of the folder nor waits for a writer of a pipe.
func TestOpenRefusesOtherFiles(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.WriteFile(elsewhere, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ledger.db", "commits", "lock"} {
		for kind, test := range map[string]struct {
			create func(path string) error
			want   error
		}{
			"rejects a pipe":                   {func(path string) error { return syscall.Mkfifo(path, 0o600) }, disk.ErrNotRegular},
			"rejects a link out of the folder": {func(path string) error { return os.Symlink(elsewhere, path) }, disk.ErrOutside},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				folder := t.TempDir()
				if err := test.create(filepath.Join(folder, name)); err != nil {
					t.Fatal(err)
				}
				if _, err := file.Open(folder, file.Options{}); !errors.Is(err, test.want) {
					t.Errorf("got error %v, want %v", err, test.want)
				}
			})
		}
	}
}

func TestReadOnly(t *testing.T) {
	folder := t.TempDir()
	store := open(t, folder, file.Options{})
	put(t, store, "a", "1")
	closeStore(t, store)
	store = open(t, folder, file.Options{ReadOnly: true})
	if err := store.Commit(t.Context(), ledger.Change{Key: "b", Value: []byte("1")}); !errors.Is(err, file.ErrReadOnly) {
		t.Errorf("got error %v, want %v", err, file.ErrReadOnly)
	}
	if value, err := store.Get(t.Context(), "a"); string(value) != "1" || err != nil {
		t.Errorf("got %q and error %v, want 1", value, err)
	}
	closeStore(t, store)
}

// TestCloseEndsScans checks that a scan may read and commit, and ends with ErrClosed when the store is closed.
func TestCloseEndsScans(t *testing.T) {
	store := open(t, t.TempDir(), file.Options{})
	for i := range 10 {
		put(t, store, fmt.Sprint(i), "1")
	}
	var closing sync.WaitGroup
	seen := 0
	err := store.Scan(t.Context(), "", func(key, _ []byte) (err error) {
		if seen++; seen == 1 {
			put(t, store, "committed while scanning", "1")
			closing.Go(func() { _ = store.Close() })
			for err == nil { // until the store is closing
				_, err = store.Get(t.Context(), string(key))
			}
		}
		return nil
	})
	if !errors.Is(err, file.ErrClosed) || seen != 1 {
		t.Errorf("got error %v after %d rows, want %v after 1", err, seen, file.ErrClosed)
	}
	closing.Wait()
}

// TestPanicFailsTheWholeGroup checks that a panic in the write of a group reports no success to the other callers, and
// ends the store.
func TestPanicFailsTheWholeGroup(t *testing.T) {
	var fatal []error
	store := open(t, t.TempDir(), file.Options{Fatal: func(err error) { fatal = append(fatal, err) }})
	var changes []ledger.Change
	for i := range 8 {
		changes = append(changes, ledger.Change{Key: fmt.Sprint("ip/pool/", i), Value: []byte("=test/a")})
	}
	results, err := file.CommitPanicking(store, changes...)
	if err != nil || len(fatal) != 1 || !strings.Contains(fatal[0].Error(), "(*Store).writeGroup") {
		t.Errorf("got error %v, reported %v, want the stack", err, fatal)
	}
	for _, err := range append(results, store.Commit(t.Context(), changes[0])) {
		if err == nil {
			t.Error("a commit that was not written succeeded")
		}
	}
	closeStore(t, store)
}
