// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package running

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// Main is the main function of a program, which is run inside the test.
type Main func(ctx context.Context, version string, arguments []string, stdout, stderr io.Writer) int

// Inside is a program that runs inside the test.
type Inside struct {
	// Log is what it says on standard error.
	Log *Log

	stop   context.CancelFunc
	status chan int
}

// Start begins the program, and waits until it listens.
func (m Main) Start(t testing.TB, arguments ...string) *Inside {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &Inside{Log: &Log{}, stop: cancel, status: make(chan int, 1)}
	go func() { p.status <- m(ctx, "test", arguments, io.Discard, p.Log) }()
	t.Cleanup(cancel)
	p.Eventually(t, func() bool {
		select {
		case status := <-p.status:
			t.Fatalf("it has ended with %d: %s", status, p.Log)
		default:
		}
		return strings.Contains(p.Log.String(), "Listening")
	})
	return p
}

// Stop ends the program.
func (p *Inside) Stop(t testing.TB) {
	t.Helper()
	p.stop()
	if status := <-p.status; status != 0 {
		t.Errorf("it ended with %d: %s", status, p.Log)
	}
}

// Eventually waits until something is so.
func (p *Inside) Eventually(t testing.TB, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not come: %s", p.Log)
		}
	}
}

// Try runs the program, which is to end by itself, and gives its status and what it says, in which files of a folder are without it.
func (m Main) Try(t testing.TB, folder string, arguments ...string) (status int, said string) {
	t.Helper()
	var out, problems Log
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	status = m(ctx, "test", arguments, &out, &problems)
	return status, strings.ReplaceAll(out.String()+problems.String(), folder+"/", "")
}
