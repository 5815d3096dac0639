// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"os/exec"
	"runtime"
	"syscall"
)

// StartCommand starts a program in its own process group, so that Ctrl-C in the terminal reaches only the caller. On
// Linux the kernel kills the program when the caller exits, even if the caller is killed. StartCommand calls exited
// with the result of c.Wait once the program has exited. It fails if the program cannot be started; exited is then not
// called.
func StartCommand(c *exec.Cmd, exited func(error)) error {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(c.SysProcAttr)
	started := make(chan error)
	go func() {
		// PR_SET_PDEATHSIG refers to the thread that started the program, not to its process: prctl(2).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.Start()
		if started <- err; err == nil {
			exited(c.Wait())
		}
	}()
	return <-started
}
