// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package child starts programs that do not outlive whoever started them. Enter at Start.
package child

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Start starts a program in a group of its own, so that Ctrl-C in the terminal reaches the caller only. On Linux it is killed when the caller ends,
// however that ends: what is shown is left on no machine. ended is told when the program has ended, with an error or nil.
func Start(c *exec.Cmd, ended func(error)) error {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(c.SysProcAttr)
	started := make(chan error)
	go func() {
		// The kernel takes the end of the thread that has started a program for that of its parent.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.Start()
		if started <- err; err == nil {
			ended(c.Wait())
		}
	}()
	return <-started
}
