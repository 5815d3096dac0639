//go:build system && linux

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package uml_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/system/uml"
)

// TestControllers runs the network provider with the real controllers of Docker where every kind of link can be had:
// containers on ipvlan in its three modes, on VLANs of their own, and on macvlan, ipvlan and bridges that are on a
// VLAN.
func TestControllers(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	const program = "test/libnetwork/libnetwork.test"
	files := map[string]string{program: compile(t, filepath.Join(root, "test", "libnetwork"), ".", "-tags", "system")}
	for _, name := range []string{"bin/graft", "bin/graft-network-provider", ".cache/bin/libnetwork/docker28",
		".cache/bin/libnetwork/moby2"} {
		files[name] = filepath.Join(root, name)
	}
	out, err := run(t, 10*time.Minute, uml.Job{
		Command: []string{program, "-test.v", "-test.run", "^TestKindsOfKernelModules$", "-test.timeout", "9m"},
		Files:   files, Modules: kinds, Memory: 3072,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if runs := strings.Count(out, "--- PASS: TestKindsOfKernelModules/"); runs < 2*7 {
		t.Errorf("%d tests have run:\n%s", runs, out)
	}
	t.Log(out)
}
