// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"
)

// Terminal is a program in a pseudo terminal: it reads from a keyboard, writes to a screen, and gets a signal from the
// kernel for Ctrl-C.
type Terminal struct {
	command *exec.Cmd
	file    *os.File
	ended   chan error

	mu      sync.Mutex
	changed *sync.Cond
	screen  *Screen
	raw     strings.Builder
	closed  bool
}

// Open starts a program in a terminal with a number of columns.
func Open(command *exec.Cmd, width int) (*Terminal, error) {
	file, err := pty.StartWithSize(command, size(width))
	if err != nil {
		return nil, fmt.Errorf("starting the program in a terminal: %w", err)
	}
	t := &Terminal{command: command, file: file, ended: make(chan error, 1), screen: NewScreen(width)}
	t.changed = sync.NewCond(&t.mu)
	go t.read()
	return t, nil
}

func size(width int) *pty.Winsize { return &pty.Winsize{Rows: 50, Cols: uint16(width)} }

// read displays the program's output until the end, which a pseudo terminal reports as a read error.
func (t *Terminal) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := t.file.Read(buffer)
		t.mu.Lock()
		_, _ = t.screen.Write(buffer[:n])
		t.raw.Write(buffer[:n])
		t.closed = err != nil
		t.changed.Broadcast()
		t.mu.Unlock()
		if err != nil {
			t.ended <- t.command.Wait()
			return
		}
	}
}

// Wait waits until the program has written a text since the last call of Wait. It returns false if the program exits or
// the time is over.
func (t *Terminal) Wait(text string, limit time.Duration) bool {
	timer := time.AfterFunc(limit, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.closed = true
		t.changed.Broadcast()
	})
	defer timer.Stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		_, after, found := strings.Cut(t.raw.String(), text)
		if found {
			t.raw.Reset()
			t.raw.WriteString(after)
			return true
		}
		if t.closed {
			return false
		}
		t.changed.Wait()
	}
}

// Type types a text; "\x03" is Ctrl-C, "\r" the return key, "\t" the tab key.
func (t *Terminal) Type(text string) error {
	if _, err := t.file.WriteString(text); err != nil {
		return fmt.Errorf("typing: %w", err)
	}
	return nil
}

// Resize changes the width of the terminal and signals the program.
func (t *Terminal) Resize(width int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.screen.Resize(width)
	if err := pty.Setsize(t.file, size(width)); err != nil {
		return fmt.Errorf("changing the size of the terminal: %w", err)
	}
	return nil
}

// Screen returns the content of the terminal.
func (t *Terminal) Screen() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.String()
}

// Close waits until the program has exited and returns its exit status, or -1 after a signal. It kills a program that
// does not exit in time, and fails.
func (t *Terminal) Close(limit time.Duration) (int, error) {
	defer func() { _ = t.file.Close() }()
	select {
	case err := <-t.ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return -1, fmt.Errorf("waiting for the program: %w", err)
		}
		return t.command.ProcessState.ExitCode(), nil
	case <-time.After(limit):
		err := errors.Join(t.command.Process.Kill(), <-t.ended)
		return -1, fmt.Errorf("the program has not ended after %s (%w); the screen:\n%s", limit, err, t.Screen())
	}
}
