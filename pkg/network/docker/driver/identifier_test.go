// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// TestIdentifiers checks that the names and marks of links fit the kernel's limits for Docker's identifiers of 64
// digits.
func TestIdentifiers(t *testing.T) {
	w := newWorld(t)
	longest := strings.Repeat("f", 64)
	w.create(bare(longest))
	w.attach(endpoint(longest, longest))
}

// TestKernelIdentifiers checks that the kernel accepts the longest names.
func TestKernelIdentifiers(t *testing.T) {
	h := newHost(t)
	longest := strings.Repeat("f", 64)
	for _, kind := range h.here() {
		n := kinds()[kind]
		n.ID = longest
		h.create(n)
		e := endpointOf(kind, longest, "172.30.0.2/24")
		e.Network = longest
		if kind == link.VLAN {
			e.Options = mapOf("vlan=42")
		}
		h.attach(e)
		h.must(h.DeleteNetwork(t.Context(), longest))
		h.same("links", nil, h.links())
	}
}
