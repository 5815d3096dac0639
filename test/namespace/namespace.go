// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package namespace lets tests have the kernel for themselves: it runs a test binary again in user, network and mount
// namespaces of its own, in which it is root, whoever started it. What a test does to interfaces there is gone when it
// ends, however it ends.
//
// It is for tests alone, and knows nothing of what they test. Enter at Main.
package namespace

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
)

// Options say what is the tests' own besides users, network and mounts.
type Options struct {
	// Processes gives them process numbers of their own, so that all they start ends with them.
	Processes bool
	// Empty are folders that are empty for them, such as /run, and can be written.
	Empty []string
}

// ErrRefused means that this machine does not let this user make namespaces.
var ErrRefused = errors.New("this machine lets this user make no namespaces")

// inside is the variable of the environment by which a binary knows that it runs in namespaces of its own, and whether
// they are set up.
const (
	inside   = "GRAFT_TEST_NAMESPACE"
	entering = "entering"
	entered  = "entered"
)

// powerless is the exit code of a binary that was given namespaces and no power in them, as AppArmor does it. Tests
// have no such code.
const powerless = 126

// Inside reports whether this process runs in namespaces that Main has made.
func Inside() bool { return os.Getenv(inside) != "" }

// without is the variable of the environment by which somebody says that tests which need a kernel are to be left out.
const without = "GRAFT_TEST_WITHOUT_KERNEL"

// Main is what TestMain gives to os.Exit: it runs the tests of a package in namespaces of their own. Where the machine
// lets nobody without root do this, it says on standard error how to permit it, and fails. Only where somebody has said
// that it is to be so (GRAFT_TEST_WITHOUT_KERNEL=1) the other tests run: those whose names do not begin with
// TestKernel.
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

// explain says what to do about a machine that refuses.
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
