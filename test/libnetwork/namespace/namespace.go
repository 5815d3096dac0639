// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package namespace runs a test program in separate user, network and mount namespaces. There it can create links and
// mount folders without root, and the machine does not see them. Start reading at Enter.
package namespace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// inside is an environment variable with the part that a process in separate namespaces runs.
const inside = "GRAFT_OWN_NAMESPACES"

// without is an environment variable that leaves out tests with namespaces if the kernel refuses them.
const without = "GRAFT_TEST_WITHOUT_KERNEL"

// permit explains how an administrator allows users to create namespaces.
const permit = `
*** NOTHING OF THIS HAS RUN: IT NEEDS A NETWORK OF ITS OWN IN THE KERNEL, AND CANNOT HAVE IT ***
This machine does not let this user make user, network and mount namespaces: %v
An administrator permits it with
    sysctl -w kernel.apparmor_restrict_unprivileged_userns=0     # Ubuntu since 23.10
    sysctl -w kernel.unprivileged_userns_clone=1                 # older Debian
    sysctl -w user.max_user_namespaces=10000                     # where it is 0
As root, or in a container with --privileged, it runs too. To leave it out: %s=1

`

// explained prints permit once.
var explained sync.Once

// Enter starts a process in separate namespaces for each part, all at the same time. It returns an empty part and the
// highest exit status. In such a process, it returns the part.
func Enter(parts ...string) (part string, status int) {
	if part = os.Getenv(inside); part != "" {
		if err := prepare(); err != nil {
			fmt.Fprintln(os.Stderr, "preparing namespaces:", err)
			return "", 1
		}
		return part, 0
	}
	statuses := make([]int, len(parts))
	later := make([]bytes.Buffer, len(parts))
	var all sync.WaitGroup
	for i, part := range parts {
		// the output of the first is shown at once, that of the others at the end
		out, errs := io.Writer(os.Stdout), io.Writer(os.Stderr)
		if i > 0 {
			out, errs = &later[i], &later[i]
		}
		all.Go(func() { statuses[i] = outside(part, out, errs) })
	}
	all.Wait()
	for i := range later {
		_, _ = os.Stdout.Write(later[i].Bytes())
	}
	return "", slices.Max(statuses)
}

// outside runs a part, and returns its exit status.
func outside(part string, out, errs io.Writer) (status int) {
	err := again(part, true, out, errs)
	if refused(err) && os.Getuid() == 0 {
		err = again(part, false, out, errs)
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode()
	case refused(err):
		explained.Do(func() { fmt.Fprintf(errs, permit, err, without) })
		if os.Getenv(without) != "" {
			return 0
		}
		return 1
	default:
		fmt.Fprintln(errs, "running in namespaces:", err)
		return 1
	}
}

// refused reports that the machine does not allow a user to create namespaces.
func refused(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSPC) ||
		errors.Is(err, syscall.EINVAL)
}

// again runs this program for a part in namespaces of its own; with a user namespace, or as the root that it is.
func again(part string, user bool, out, errs io.Writer) error {
	runtime.LockOSThread() // the kernel takes the end of the thread for the end of the process
	defer runtime.UnlockOSThread()
	command := exec.Command("/proc/self/exe", os.Args[1:]...) //nolint:noctx // it ends when it is done
	command.Args[0] = os.Args[0]
	command.Env = append(os.Environ(), inside+"="+part)
	command.Stdout, command.Stderr = out, errs
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		Pdeathsig: syscall.SIGKILL}
	if user {
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return command.Run()
}

// prepare makes the namespaces usable: what is mounted stays inside, /run is empty, /sys shows these links, and the
// loopback interface is up.
func prepare() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=0755"); err != nil {
		return fmt.Errorf("mounting /run: %w", err)
	}
	// If a container runtime has mounted something below /sys, a user cannot mount /sys. Then it shows the links of the
	// machine.
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
