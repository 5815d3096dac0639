// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
)

const page = 4096

// filled writes a ledger with rows in several pages and one overflow page, some of them replaced and removed, and
// returns its rows.
func filled(t testing.TB, folder string) map[string]string {
	t.Helper()
	store, err := file.Open(folder, file.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	change := func(key, value string) {
		c := ledger.Change{Key: key}
		if was, ok := rows[key]; ok {
			c.Was = []byte(was)
		}
		if delete(rows, key); value != "" {
			c.Value, rows[key] = []byte(value), value
		}
		if err := store.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 24 {
		change(fmt.Sprintf("ip/overlay/10.0.0.%d", i), strings.Repeat(fmt.Sprint(i), 60))
	}
	change("owner/large", strings.Repeat("x", page+page/2))
	for i := range 8 {
		change(fmt.Sprintf("ip/overlay/10.0.0.%d", 3*i), "")
		change(fmt.Sprintf("ip/overlay/10.0.0.%d", 3*i+1), "again")
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// readAll opens a folder and returns its rows.
func readAll(t testing.TB, folder string, o file.Options) (rows map[string]string, err error) {
	t.Helper()
	store, err := file.Open(folder, o)
	if err != nil {
		return nil, err
	}
	rows = map[string]string{}
	err = store.Scan(t.Context(), "", func(key, value []byte) error {
		rows[string(key)] = string(value)
		return nil
	})
	return rows, errors.Join(err, store.Close())
}

// expect checks the promise of the package: every row is present, or Open refuses with an instruction. It reports
// whether Open refused.
func expect(t *testing.T, fault, folder string, want map[string]string, o file.Options) (refused bool) {
	t.Helper()
	rows, err := readAll(t, folder, o)
	switch {
	case err == nil && !maps.Equal(rows, want):
		t.Errorf("%s: opened with %d rows, want all %d or an error", fault, len(rows), len(want))
	case err != nil && (!errors.Is(err, file.ErrDamaged) || !strings.Contains(err.Error(), "import the newest export") || !strings.Contains(err.Error(), folder)):
		t.Errorf("%s: got error %v, want %v with the folder and the remedy", fault, err, file.ErrDamaged)
	}
	return err != nil
}

// TestDamage flips every byte of every file, and empties, zeroes, truncates and removes each file. Of the unused space
// at the end of the data file, a few bytes are flipped.
func TestDamage(t *testing.T) {
	folder := t.TempDir()
	want := filled(t, folder)
	used := page * usedPages(t, folder)
	for _, name := range []string{"ledger.db", "commits", "lock"} {
		path := filepath.Join(folder, name)
		original, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		restore := func() {
			if err := os.WriteFile(path, original, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(name+" every byte", func(t *testing.T) { flipEach(t, folder, name, original, used, want) })
		for fault, content := range map[string][]byte{
			"an empty file": {}, "a file of zeros": make([]byte, len(original)),
			"the first half of a file": original[:len(original)/2], "without the last used page": original[:min(len(original), used-page)],
			"one byte shorter": original[:max(0, len(original)-1)], "one page": original[:min(len(original), page)],
		} {
			t.Run(name+" "+fault, func(t *testing.T) {
				defer restore()
				if err := os.WriteFile(path, content, 0o600); err != nil {
					t.Fatal(err)
				}
				if expect(t, fault, folder, want, file.Options{}) {
					if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, content) {
						t.Errorf("the refused file was changed (error %v)", err)
					}
				}
			})
		}
		t.Run(name+" zero pages", func(t *testing.T) {
			defer restore()
			for at := 0; at < min(len(original), used); at += page {
				content := bytes.Clone(original)
				clear(content[at:min(len(content), at+page)])
				if err := os.WriteFile(path, content, 0o600); err != nil {
					t.Fatal(err)
				}
				expect(t, fmt.Sprintf("page %d", at/page), folder, want, file.Options{})
			}
		})
		t.Run(name+" missing", func(t *testing.T) {
			defer restore()
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			expect(t, "missing", folder, want, file.Options{})
			expect(t, "missing, opened again", folder, want, file.Options{})
		})
	}
}

// flipEach flips the bytes of a file one by one. Opening a folder takes most of the time, and begins with the check, as
// every sixteenth byte shows. Of the other bytes in ledger.db, those that the check accepts are flipped together, and
// one by one only if not every row is present then.
func flipEach(t *testing.T, folder, name string, original []byte, used int, want map[string]string) {
	t.Helper()
	path := filepath.Join(folder, name)
	data, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = data.Close() }()
	flipped := func(at int) byte { return original[at] ^ (1 << (at % 8)) }
	single := func(at int, o file.Options) {
		flip(t, data, at, flipped(at))
		expect(t, fmt.Sprintf("byte %d", at), folder, want, o)
		flip(t, data, at, original[at])
	}
	var accepted []int // by the check, and not opened yet
	together := func() {
		for _, at := range accepted {
			flip(t, data, at, flipped(at))
		}
		rows, err := readAll(t, folder, file.Options{ReadOnly: true})
		for _, at := range accepted {
			flip(t, data, at, original[at])
		}
		if err != nil || !maps.Equal(rows, want) {
			for _, at := range accepted {
				single(at, file.Options{ReadOnly: true})
			}
		}
		accepted = nil
	}
	step := 1
	for at := 0; at < len(original); at += step {
		if at >= used {
			step = page - 1
		}
		if name != "ledger.db" || at%16 == 0 {
			single(at, file.Options{ReadOnly: at%64 != 0})
			continue
		}
		flip(t, data, at, flipped(at))
		if !errors.Is(file.Check(path), file.ErrDamaged) {
			accepted = append(accepted, at)
		}
		flip(t, data, at, original[at])
		if len(accepted) == 32 {
			together()
		}
	}
	together()
}

// usedPages returns the number of pages that the newest meta page counts.
func usedPages(t *testing.T, folder string) int {
	t.Helper()
	const header, count, transaction = 16, 40, 48
	data, err := os.ReadFile(filepath.Join(folder, "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	number := func(meta, field int) uint64 { return binary.LittleEndian.Uint64(data[meta*page+header+field:]) }
	newest := 0
	if number(1, transaction) > number(0, transaction) {
		newest = 1
	}
	return int(number(newest, count))
}

func flip(t *testing.T, data *os.File, at int, value byte) {
	t.Helper()
	if _, err := data.WriteAt([]byte{value}, int64(at)); err != nil {
		t.Fatal(err)
	}
}

// TestRestoredOlderFileIsRefused puts back an older file, which is consistent by itself.
func TestRestoredOlderFileIsRefused(t *testing.T) {
	folder := t.TempDir()
	old := filled(t, folder)
	path := filepath.Join(folder, "ledger.db")
	copied, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	store, err := file.Open(folder, file.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Commit(t.Context(), ledger.Change{Key: "ip/overlay/10.0.9.9", Value: []byte("new")}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, copied, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []file.Options{{}, {ReadOnly: true}} {
		if _, err := readAll(t, folder, o); !errors.Is(err, file.ErrDamaged) || !strings.Contains(err.Error(), "older copy") {
			t.Errorf("%+v: got error %v, want %v about an older copy", o, err, file.ErrDamaged)
		}
	}
	rows, err := readAll(t, folder, file.Options{ReadOnly: true, OldCopy: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(old, rows); diff != "" {
		t.Errorf("rows of the accepted copy (-want +got):\n%s", diff)
	}
}

// FuzzOpen changes bytes of a ledger at random places. Open must not panic, hang or return other rows.
func FuzzOpen(f *testing.F) {
	folder := f.TempDir()
	want := filled(f, folder)
	path := filepath.Join(folder, "ledger.db")
	original, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(8), []byte{0xff})
	f.Add(uint32(page+headerOfPage), []byte{1, 2, 3, 4})
	f.Add(uint32(5*page), make([]byte, 64))
	f.Fuzz(func(t *testing.T, at uint32, changed []byte) {
		content := bytes.Clone(original)
		copy(content[int(at)%len(content):], changed)
		own := t.TempDir()
		for name, data := range map[string][]byte{"ledger.db": content, "commits": mustRead(t, filepath.Join(folder, "commits"))} {
			if err := os.WriteFile(filepath.Join(own, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, "fuzzed", own, want, file.Options{})
	})
}

const headerOfPage = 16

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
