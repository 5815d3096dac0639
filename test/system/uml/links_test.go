//go:build system && linux

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package uml_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/system/uml"
)

// TestLinks runs the tests of package link with all kinds of links: ipvlan l2, l3 and l3s, VLANs as ports and below
// macvlan, ipvlan and bridges, and the probe of the kernel.
func TestLinks(t *testing.T) {
	program := compile(t, "../../..", "./pkg/network/docker/link")
	out, err := run(t, 10*time.Minute, uml.Job{
		Command: []string{"link.test", "-test.v", "-test.run", "^TestKernel", "-test.timeout", "9m"},
		Files:   map[string]string{"link.test": program},
		Modules: kinds,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, test := range []string{"TestKernelIpvlan", "TestKernelVLAN", "TestKernelChildren", "TestKernelProbe"} {
		if !strings.Contains(out, "--- PASS: "+test+" ") {
			t.Errorf("%s has not run:\n%s", test, out)
		}
	}
	t.Log(out)
}

// compile builds the tests of a package of a module. The guest has nothing of Go.
func compile(t *testing.T, module, pkg string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "test")
	c := exec.CommandContext(t.Context(), "go", append(append([]string{"test", "-c", "-o", program}, flags...), pkg)...)
	c.Dir = module
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("compiling the tests of %s: %v\n%s", pkg, err, out)
	}
	return program
}
