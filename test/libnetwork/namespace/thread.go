// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package namespace

import (
	"fmt"
	"os"
	"runtime"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// In calls a function in the network namespace of a file. The thread on which it ran ends with it.
func In(path string, do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is of no use afterwards
		done <- in(path, do)
	}()
	return <-done
}

func in(path string, do func() error) error {
	space, err := netns.GetFromPath(path)
	if err != nil {
		return fmt.Errorf("opening the namespace %s: %w", path, err)
	}
	defer func() { _ = space.Close() }()
	if err := netns.Set(space); err != nil {
		return fmt.Errorf("entering the namespace %s: %w", path, err)
	}
	return do()
}

// New makes a network namespace that stays at a file until Remove.
func New(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("making a namespace: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("making a namespace: %w", err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("making a namespace: %w", err)
			return
		}
		done <- unix.Mount(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), path, "", unix.MS_BIND, "")
	}()
	return <-done
}

// Remove ends a namespace that New made.
func Remove(path string) error {
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("removing the namespace %s: %w", path, err)
	}
	return os.Remove(path)
}

// Open opens the file of a network namespace.
func Open(path string) (netns.NsHandle, error) { return netns.GetFromPath(path) }
