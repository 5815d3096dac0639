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

// Machine is a network of its own within the one of the tests, such as a container's or another machine's.
type Machine struct {
	// File holds the network; its name under /proc is Path.
	File *os.File
}

// NewMachine makes one, with its loopback up, which goes with the test.
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

// threadNetwork is the network of the calling thread.
const threadNetwork = "/proc/thread-self/ns/net"

// Path is a name of the network for other programs, as long as this process lives.
func (m *Machine) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), m.File.Fd()) }

// Do does something in the network, on a thread that does nothing else. What it starts on other threads is not in the
// network.
func (m *Machine) Do(t testing.TB, f func() error) {
	t.Helper()
	if err := m.Try(f); err != nil {
		t.Fatal(err)
	}
}

// Try is Do with the error that f gives.
func (m *Machine) Try(f func() error) error {
	return apart(func() error {
		if err := unix.Setns(int(m.File.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("going into the network: %w", err)
		}
		return f()
	})
}

// apart does something on a thread that ends with it, so that whatever becomes of its namespaces disturbs nobody.
func apart(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			// The first thread stands for the process and never ends: while this waits on it, the next is another.
			defer runtime.UnlockOSThread()
			done <- apart(f)
			return
		}
		done <- f()
	}()
	return <-done
}
