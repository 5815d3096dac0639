// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// Main is the main function of a program that runs inside the test process.
type Main func(ctx context.Context, version string, arguments []string, stdout, stderr io.Writer) int

// InProcess is a program that runs inside the test process.
type InProcess struct {
	// Log is the standard error of the program.
	Log *Log

	stop   context.CancelFunc
	exited chan struct{}
	status int // set before exited is closed
}

// Start runs the program and returns when it listens. The cleanup of the test stops the program and waits until it has
// exited.
func (m Main) Start(t testing.TB, arguments ...string) *InProcess {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &InProcess{Log: &Log{}, stop: cancel, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		p.status = m(ctx, "test", arguments, io.Discard, p.Log)
	}()
	t.Cleanup(func() { p.shutdown(t) })
	p.Eventually(t, func() bool {
		select {
		case <-p.exited:
			t.Fatalf("the program exited with status %d while it should be listening: %s", p.status, p.Log)
		default:
		}
		return strings.Contains(p.Log.String(), "Listening")
	})
	return p
}

// Stop stops the program and reports an error unless its exit status is 0.
func (p *InProcess) Stop(t testing.TB) {
	t.Helper()
	if p.shutdown(t); p.status != 0 {
		t.Errorf("exit status %d, want 0: %s", p.status, p.Log)
	}
}

// shutdown cancels the context of the program and waits until it has exited.
func (p *InProcess) shutdown(t testing.TB) {
	t.Helper()
	p.stop()
	select {
	case <-p.exited:
	case <-time.After(timeout):
		t.Fatalf("the program has not exited after %s: %s", timeout, p.Log)
	}
}

// Eventually waits until condition returns true. It fails the test after a minute.
func (p *InProcess) Eventually(t testing.TB, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(timeout); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the condition is still false after %s: %s", timeout, p.Log)
		}
	}
}

// Try runs a program that exits by itself. It returns the exit status and the output, from which the path of the folder
// is removed.
func (m Main) Try(t testing.TB, folder string, arguments ...string) (status int, output string) {
	t.Helper()
	var out, problems Log
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	status = m(ctx, "test", arguments, &out, &problems)
	return status, strings.ReplaceAll(out.String()+problems.String(), folder+"/", "")
}
