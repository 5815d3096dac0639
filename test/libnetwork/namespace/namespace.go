// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package namespace runs a process in user, network and mount namespaces of its own, in which it may make links and mount folders without being root, and
// without anything of it being seen outside. It must not be used by a process that has work to do outside. Enter at Enter.
package namespace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// inside says that this process is the one in namespaces of its namespace.
const inside = "GRAFT_OWN_NAMESPACES"

// without is the variable of the environment by which somebody says that what needs a kernel is to be left out, as in Graft's other tests.
const without = "GRAFT_TEST_WITHOUT_KERNEL"

// permit is what helps where a machine does not let a user make namespaces.
const permit = `
*** NOTHING OF THIS HAS RUN: IT NEEDS A NETWORK OF ITS OWN IN THE KERNEL, AND CANNOT HAVE IT ***
This machine does not let this user make user, network and mount namespaces: %v
An administrator permits it with
    sysctl -w kernel.apparmor_restrict_unprivileged_userns=0     # Ubuntu since 23.10
    sysctl -w kernel.unprivileged_userns_clone=1                 # older Debian
    sysctl -w user.max_user_namespaces=10000                     # where it is 0
As root, or in a container with --privileged, it runs too. To leave it out: %s=1

`

// Enter gives true in the process that is in namespaces of its namespace. In the one that was started it runs that, and gives false and its exit status.
func Enter() (ready bool, status int) {
	if os.Getenv(inside) != "" {
		if err := prepare(); err != nil {
			fmt.Fprintln(os.Stderr, "preparing namespaces:", err)
			return false, 1
		}
		return true, 0
	}
	err := again(true)
	if refused(err) && os.Getuid() == 0 {
		err = again(false)
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return false, exit.ExitCode()
	case refused(err):
		fmt.Fprintf(os.Stderr, permit, err, without)
		if os.Getenv(without) != "" {
			return false, 0
		}
		return false, 1
	case err != nil:
		fmt.Fprintln(os.Stderr, "entering namespaces:", err)
		return false, 1
	}
	return false, 0
}

// refused says that a machine does not let a user make namespaces.
func refused(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL)
}

// again runs this program in namespaces of its own; with a user namespace, or as the root that it is.
func again(user bool) error {
	runtime.LockOSThread() // the kernel takes the end of the thread for the end of the process
	defer runtime.UnlockOSThread()
	command := exec.Command("/proc/self/exe", os.Args[1:]...) //nolint:noctx // it ends when it is done
	command.Args[0] = os.Args[0]
	command.Env = append(os.Environ(), inside+"=1")
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if user {
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return command.Run()
}

// prepare makes the namespaces usable: what is mounted stays inside, /run is empty, /sys shows these links, and the loopback interface is up.
func prepare() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=0755"); err != nil {
		return fmt.Errorf("mounting /run: %w", err)
	}
	// Where a container runtime has mounted something below /sys, a user cannot mount it anew, and sees the links of the machine in it.
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil && !refused(err) && !errors.Is(err, syscall.EBUSY) {
		return fmt.Errorf("mounting /sys: %w", err)
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("finding the loopback interface: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("bringing the loopback interface up: %w", err)
	}
	return nil
}

// Links are the names of all links of the calling thread's network namespace, without the loopback interface.
func Links() (string, error) {
	links, err := netlink.LinkList()
	for errors.Is(err, netlink.ErrDumpInterrupted) {
		links, err = netlink.LinkList()
	}
	if err != nil {
		return "", fmt.Errorf("listing links: %w", err)
	}
	var names []string
	for _, link := range links {
		if name := link.Attrs().Name; name != "lo" {
			names = append(names, name)
		}
	}
	return strings.Join(names, " "), nil
}
