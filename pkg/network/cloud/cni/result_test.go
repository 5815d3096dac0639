// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cni

import (
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/types/create"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/test/cloudtest"
)

// FuzzResult checks that any output of a plugin gives a valid binding or an error.
func FuzzResult(f *testing.F) {
	for _, seed := range []string{
		`{"cniVersion": "1.0.0", "ips": [{"address": "10.0.0.5/24", "gateway": "10.0.0.1"}], "routes": [{"dst": "0.0.0.0/0"}]}`,
		`{"cniVersion": "0.4.0", "ips": [{"version": "6", "address": "::ffff:10.0.0.5/90"}], "routes": [null]}`,
		`{"cniVersion": "0.2.0", "ip4": {"ip": "10.0.0.5/24"}, "ip6": null}`, `{"cniVersion": "1.1.0", "ips": [null]}`, `null`, `{"cniVersion": "0.3.1", "ips": [null]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		result, err := convertResult(func() (types.Result, error) { return create.CreateFromBytes(raw) })
		if err != nil {
			return
		}
		binding, err := bindingOf(result, attachment{}, network.Allocation{})
		if err != nil {
			return
		}
		for _, route := range binding.Routes {
			if route.Destination != route.Destination.Masked() {
				t.Errorf("the route to %s", route.Destination)
			}
		}
		cloudtest.Sound(t, binding)
	})
}
