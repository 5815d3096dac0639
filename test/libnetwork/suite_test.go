// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/namespace"
)

// patience limits each wait.
const patience = time.Minute

// controllers are the network controllers of Docker Engine 28 and 29. The suite runs once with each.
var controllers = []string{"docker28", "moby2"}

// controller is the one of this process. Only moby2 uses the interface names that users choose.
var controller string

// GRAFT_NETWORK_PROVIDER names another build of the server, such as one with the race detector.
var (
	provider = cmp.Or(os.Getenv("GRAFT_NETWORK_PROVIDER"), absolute("../../bin/graft-network-provider"))
	graft    = absolute("../../bin/graft")
	engines  = absolute("../../.cache/bin/libnetwork")
)

// absolute returns an absolute path. It panics if the working directory is unknown.
func absolute(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return whole
}

// TestMain starts a process for each controller, in its own namespaces. Both run at the same time.
func TestMain(m *testing.M) {
	// The programs are outside of this module. `go test` caches results while this variable is the same.
	_ = os.Getenv("GRAFT_PROGRAMS")
	for _, path := range []string{provider, graft, filepath.Join(engines, controllers[0]),
		filepath.Join(engines, controllers[1])} {
		if _, err := os.Stat(path); err != nil {
			fmt.Fprintln(os.Stderr, err, "- `make test-libnetwork` builds it")
			os.Exit(1)
		}
	}
	part, status := namespace.Enter(controllers...)
	if part != "" {
		controller = part
		status = m.Run()
	}
	os.Exit(status)
}

func TestLibnetwork(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	name := "libnetwork-" + controller
	_, reporter := GinkgoConfiguration()
	if folder := os.Getenv("GRAFT_TEST_REPORTS"); folder != "" {
		reporter.JUnitReport = filepath.Join(folder, name+".xml")
	}
	RunSpecs(t, name, Label("docker", "network", "slow"), reporter)
}
