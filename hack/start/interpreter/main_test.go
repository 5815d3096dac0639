// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"
)

func TestURLIn(t *testing.T) {
	url, err := urlIn("2026-03-01T10:00:00.000Z\tINFO\tserver\tListening\t{\"address\": \"127.0.0.1:46861\"}\n")
	if url != "https://127.0.0.1:46861" || err != nil {
		t.Errorf("got %q, %v", url, err)
	}
	if _, err := urlIn("starting"); err == nil {
		t.Error("a log without the line must be an error")
	}
}

func TestCompare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.yaml")
	if err := compare(path, []any{"a"}, true); err != nil {
		t.Fatal(err)
	}
	if err := compare(path, []any{"a"}, false); err != nil {
		t.Error(err)
	}
	if err := compare(path, []any{"b"}, false); err == nil {
		t.Error("another answer must be an error")
	}
}
