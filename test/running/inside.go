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
	ended  chan struct{}
	status int // once it has ended
}

// Start begins the program, and waits until it listens. It ends with the test, which waits for that.
func (m Main) Start(t testing.TB, arguments ...string) *Inside {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &Inside{Log: &Log{}, stop: cancel, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		p.status = m(ctx, "test", arguments, io.Discard, p.Log)
	}()
	t.Cleanup(func() { p.end(t) })
	p.Eventually(t, func() bool {
		select {
		case <-p.ended:
			t.Fatalf("it has ended with %d: %s", p.status, p.Log)
		default:
		}
		return strings.Contains(p.Log.String(), "Listening")
	})
	return p
}

// Stop ends the program, whose status must be 0.
func (p *Inside) Stop(t testing.TB) {
	t.Helper()
	if p.end(t); p.status != 0 {
		t.Errorf("it ended with %d: %s", p.status, p.Log)
	}
}

// end ends the program, if it runs, and waits until it has.
func (p *Inside) end(t testing.TB) {
	t.Helper()
	p.stop()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("it does not end: %s", p.Log)
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
