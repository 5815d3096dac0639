// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package namespace gives tests their own kernel state: it runs the test binary again in new user, network and mount
// namespaces, in which it is root for every user. All changes of interfaces disappear when the test process ends. It is
// for tests only, and does not know what they test. Start reading at Main.
package namespace

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
)

// Options are the namespaces of the tests besides users, network and mounts.
type Options struct {
	// Processes adds a process namespace, so that all started processes end with the tests.
	Processes bool
	// Empty are folders that are empty and writable for the tests, such as /run.
	Empty []string
}

// ErrRefused means that this machine does not permit this user to create namespaces.
var ErrRefused = errors.New("this machine lets this user make no namespaces")

// inside is the environment variable that tells a binary whether it runs in new namespaces, and whether they are set
// up.
const (
	inside   = "GRAFT_TEST_NAMESPACE"
	entering = "entering"
	entered  = "entered"
)

// powerless is the exit code of a binary that has namespaces but no capabilities in them, as with AppArmor. Tests have
// no such code.
const powerless = 126

// Inside reports whether this process runs in namespaces that Main has made.
func Inside() bool { return os.Getenv(inside) != "" }

// without is the environment variable that skips tests which need a kernel.
const without = "GRAFT_TEST_WITHOUT_KERNEL"

// Main runs the tests of a package in new namespaces, and returns the exit code for TestMain. If the machine does not
// permit this without root, it prints to standard error how to permit it, and fails. With GRAFT_TEST_WITHOUT_KERNEL=1
// it runs only the tests whose names do not begin with TestKernel.
func Main(m *testing.M, o Options) int {
	switch os.Getenv(inside) {
	case entering:
		if err := errors.Join(enter(o), os.Setenv(inside, entered)); err != nil {
			fmt.Fprintln(os.Stderr, "setting up the namespaces of the tests:", err)
			return powerless
		}
		return m.Run()
	case entered: // a process that a test has started
		return m.Run()
	}
	code, err := again(o)
	if err == nil {
		return code
	}
	explain(os.Stderr, err)
	if os.Getenv(without) == "" {
		return 1
	}
	if err := flag.Set("test.skip", "^TestKernel"); err != nil {
		fmt.Fprintln(os.Stderr, "leaving out the tests that need a kernel:", err)
		return 1
	}
	return m.Run()
}

// explain writes how to permit namespaces on this machine.
func explain(to io.Writer, err error) {
	fmt.Fprintf(to, `
*** THESE TESTS NEED A NETWORK OF THEIR OWN IN THE KERNEL, AND CANNOT HAVE IT ***
%v
A user without root may make one where the administrator permits it, as most distributions do:
    sysctl -w kernel.apparmor_restrict_unprivileged_userns=0     # Ubuntu since 23.10
    sysctl -w kernel.unprivileged_userns_clone=1                 # older Debian
    sysctl -w user.max_user_namespaces=10000                     # where it is 0
As root, or in a container with --privileged, they run too. To leave out what needs a kernel: %s=1

`, err, without)
}
