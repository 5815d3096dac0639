// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cloudtest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Sound checks that a binding, created from a cloud's response, has the ledger's form of addresses, and can be stored
// and read without a change.
func Sound(t *testing.T, binding network.Binding) {
	t.Helper()
	for _, address := range binding.Addresses {
		if !address.IsValid() || address.Addr().Is4In6() || address.Addr().Zone() != "" {
			t.Errorf("the address %s", address)
		}
	}
	for _, gateway := range binding.Gateways {
		if !gateway.IsValid() || gateway.Is4In6() || gateway.Zone() != "" {
			t.Errorf("the gateway %s", gateway)
		}
	}
	for _, route := range binding.Routes {
		if !route.Destination.IsValid() || route.Destination.Addr().Is4In6() {
			t.Errorf("the route to %s", route.Destination)
		}
	}
	if len(binding.MAC) > 0 && len(binding.MAC) != 6 {
		t.Errorf("the MAC address %s", binding.MAC)
	}
	written, err := json.Marshal(binding)
	if err != nil {
		t.Fatal(err)
	}
	var read network.Binding
	if err := json.Unmarshal(written, &read); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(read)
	if diff := cmp.Diff(string(written), string(again)); err != nil || diff != "" {
		t.Errorf("read again (%v):\n%s", err, diff)
	}
}
