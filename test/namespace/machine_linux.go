// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package namespace

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Machine is a separate network namespace within that of the tests, such as that of a container or of another machine.
type Machine struct {
	// File refers to the network namespace; Path is its name under /proc.
	File *os.File
}

// NewMachine returns a machine with its loopback interface up. It is removed at the end of the test.
func NewMachine(t testing.TB) *Machine {
	t.Helper()
	m := &Machine{}
	if err := apart(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("making a network: %w", err)
		}
		if err := loopback(); err != nil {
			return err
		}
		m.File, err = os.Open(threadNetwork)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.File.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// threadNetwork is the network namespace of the calling thread.
const threadNetwork = "/proc/thread-self/ns/net"

// Path returns a path of the network namespace for other programs. It is valid while this process lives.
func (m *Machine) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), m.File.Fd()) }

// Do calls a function in the network namespace, on a separate thread. Other threads that it starts are not in this
// namespace.
func (m *Machine) Do(t testing.TB, f func() error) {
	t.Helper()
	if err := m.Try(f); err != nil {
		t.Fatal(err)
	}
}

// Try works like Do, and returns the error of f.
func (m *Machine) Try(f func() error) error {
	return apart(func() error {
		if err := unix.Setns(int(m.File.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("going into the network: %w", err)
		}
		return f()
	})
}

// apart calls a function on a thread that ends afterwards, so that a change of its namespaces affects no other code.
func apart(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			// The first thread represents the process and never ends: while it waits here, the next thread is another
			// one.
			defer runtime.UnlockOSThread()
			done <- apart(f)
			return
		}
		done <- f()
	}()
	return <-done
}
