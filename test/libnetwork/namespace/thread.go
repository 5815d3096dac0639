// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package namespace

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// In calls a function in the network namespace of a file. The thread on which it ran ends with it.
func In(path string, do func() error) error {
	return apart(func() error { return in(path, do) })
}

// apart calls a function on a thread that ends with it. The first thread, which stands for the process and never ends,
// is not one of these.
func apart(do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			defer runtime.UnlockOSThread()
			done <- apart(do)
			return
		}
		done <- do()
	}()
	return <-done
}

// Start starts a program in the network namespace of a file, or in this one where there is none, and calls a function
// when it has ended. The program is killed when this process ends.
func Start(path string, program *exec.Cmd, ended func()) error {
	program.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		err := within(path, func() error {
			if err := program.Start(); err != nil {
				return err
			}
			started <- nil
			_ = program.Wait() // on the thread that has started it: the kernel takes the end of that for the end of the process
			ended()
			return nil
		})
		if err != nil {
			started <- err
		}
	}()
	return <-started
}

// within is In, and for no file a thread of this namespace.
func within(path string, do func() error) error {
	if path == "" {
		return apart(do)
	}
	return In(path, do)
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
	return apart(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("making a namespace: %w", err)
		}
		return unix.Mount(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), path, "", unix.MS_BIND, "")
	})
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
