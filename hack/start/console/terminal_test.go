// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
)

func TestTerminalThatIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	terminal := New(file, func(string) string { return "" }, t.FailNow)
	if err := terminal.Phase("good", func(now func(string)) (string, error) { now("waiting"); return "summary", nil }); err != nil {
		t.Fatal(err)
	}
	want := errors.New("wrong")
	if err := terminal.Phase("bad", func(func(string)) (string, error) { return "summary", want }); !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
	terminal.Failure(want)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^ ok good +0\.\d s  summary\n no bad +0\.\d s  \n\nFAILED wrong\n$`).Match(got) {
		t.Errorf("got %q", got)
	}
	if terminal.Colour || terminal.live {
		t.Error("a file has no colours and no lines that change")
	}
}

func TestTerminalThatNobodyReads(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	gone := 0
	terminal := New(writer, func(string) string { return "" }, func() { gone++ })
	terminal.Line("read")
	if gone != 0 {
		t.Error("the reader is there, and taken to be gone")
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	terminal.Line("not read")
	if _, err := terminal.Write([]byte("not read")); !errors.Is(err, syscall.EPIPE) || gone != 2 {
		t.Errorf("got error %v, and the reader was found gone %d times, want 2", err, gone)
	}
}
