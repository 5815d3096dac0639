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

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/namespace"
)

// versions are the controllers that each test is run with: first that which does not yet name interfaces as drivers want.
var versions = []string{"docker28", "moby2"}

// Where programs are, seen from here. GRAFT_NETWORK_PROVIDER is another build of the server, such as one with the race detector.
var (
	provider = cmp.Or(os.Getenv("GRAFT_NETWORK_PROVIDER"), absolute("../../bin/graft-network-provider"))
	graft    = absolute("../../bin/graft")
	engines  = absolute("../../.cache/bin/libnetwork")
)

// absolute makes a path one that is good in other folders.
func absolute(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return whole
}

// TestMain runs the tests in namespaces of their own, with both controllers at the same time.
func TestMain(m *testing.M) {
	// go test takes results from its cache as long as this is the same: the programs are outside of this module.
	_ = os.Getenv("GRAFT_PROGRAMS")
	for _, path := range []string{provider, graft, filepath.Join(engines, versions[0]), filepath.Join(engines, versions[1])} {
		if _, err := os.Stat(path); err != nil {
			fmt.Fprintln(os.Stderr, err, "- `make test-libnetwork` builds it")
			os.Exit(1)
		}
	}
	part, status := namespace.Enter(versions...)
	if part != "" {
		versions = []string{part}
		status = m.Run()
	}
	os.Exit(status)
}

// each runs a test with each controller.
func each(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) { test(t, version) })
	}
}
