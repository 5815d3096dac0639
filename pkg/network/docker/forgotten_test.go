// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestDockerLosesItsData checks the case that Docker has lost its data and uses a subnet in another way: the old network exists,
// but has no leases, so nothing is freed or allocated twice. When the subnet belongs to one of Graft's networks again,
// its other addresses are freed.
func TestDockerLosesItsData(t *testing.T) {
	w := newWorld(t)
	must := func(method, body string) {
		t.Helper()
		if status, answer := w.call(method, body); status != 200 || strings.Contains(answer, "Err") {
			t.Fatalf("%s: %d %s", method, status, answer)
		}
	}
	sweep := func() int {
		t.Helper()
		for range 2 {
			if err := w.leases.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.clock.Step(5 * time.Minute)
		}
		return len(w.held())
	}
	const pool = `{"AddressSpace":"graft-local","Pool":"10.64.0.0/24"}`
	const create = `{"NetworkID":"%s","IPv4Data":[{"AddressSpace":"graft-local","Pool":"10.64.0.0/24","Gateway":"10.64.0.1/24"}]}`
	must("Plugin.Activate", "")
	must("IpamDriver.RequestPool", pool)
	must("NetworkDriver.CreateNetwork", fmt.Sprintf(create, "forgotten"))
	must("Plugin.Activate", "")
	must("IpamDriver.RequestPool", pool)
	for range 4 {
		must("IpamDriver.RequestAddress", `{"PoolID":"local/overlay/10.64.0.0/24"}`)
	}
	if left := sweep(); left != 4 {
		t.Fatalf("want all 4 addresses of another driver's network to stay, got %d", left)
	}
	must("NetworkDriver.CreateNetwork", fmt.Sprintf(create, "another"))
	must("NetworkDriver.CreateEndpoint", `{"NetworkID":"another","EndpointID":"one","Interface":{"Address":"10.64.0.10/24"}}`)
	if left := sweep(); left != 1 {
		t.Errorf("want one address of the network, got %d", left)
	}
}
