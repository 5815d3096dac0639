// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package namespace

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// again runs this binary with the same arguments in namespaces of its own, and returns its exit code.
func again(o Options) (int, error) {
	// The kernel kills the child when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var refusals []error
	for _, users := range []bool{true, false} {
		command := Command(o, users, "/proc/self/exe", os.Args[1:]...)
		command.Args[0] = os.Args[0]
		command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
		command.Env = append(os.Environ(), inside+"="+entering)
		err := command.Run()
		var exit *exec.ExitError
		switch {
		case err == nil:
			return 0, nil
		case errors.As(err, &exit) && exit.ExitCode() == powerless:
			err = errors.New("namespaces were made, but this user has no power in them")
		case errors.As(err, &exit):
			if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				return 128 + int(status.Signal()), nil
			}
			return exit.ExitCode(), nil
		case !refused(err):
			return 1, fmt.Errorf("starting the tests again: %w", err)
		}
		refusals = append(refusals, err)
	}
	return 1, fmt.Errorf("%w: %w", ErrRefused, errors.Join(refusals...))
}

// Command returns a command that runs a program in new namespaces. With users, the program is root in a user namespace.
// Without, the caller must be root. The kernel kills the program when the thread that started it ends.
func Command(o Options, users bool, program string, arguments ...string) *exec.Cmd {
	command := exec.Command(program, arguments...) //nolint:noctx // ends with its parent
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS,
		Pdeathsig: syscall.SIGKILL}
	if o.Processes {
		command.SysProcAttr.Cloneflags |= unix.CLONE_NEWPID
	}
	if users {
		command.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return command
}

// refused reports whether a program could not be started because of its namespaces.
func refused(err error) bool {
	for _, errno := range []error{unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EINVAL, unix.ENOSYS, unix.EUSERS} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// enter sets up the namespaces of Command: it makes mounts private and starts the loopback interface.
func enter(o Options) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keeping mounts to itself: %w", err)
	}
	for _, folder := range o.Empty {
		if err := unix.Mount("graft", folder, "tmpfs", 0, "mode=0755"); err != nil {
			return fmt.Errorf("emptying %s: %w", folder, err)
		}
	}
	// File systems that show namespaces show the old ones until they are mounted again. An unprivileged user may not
	// mount them if another mount is below.
	if o.Processes {
		if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			return fmt.Errorf("mounting /proc: %w", err)
		}
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil && !errors.Is(err, fs.ErrPermission) &&
		!errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("mounting /sys: %w", err)
	}
	return loopback()
}

func loopback() error {
	lo, err := netlink.LinkByName("lo")
	if err == nil && lo.Attrs().Flags&net.FlagUp == 0 {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("setting up the loopback: %w", err)
	}
	return nil
}
