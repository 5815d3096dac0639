// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// BenchmarkDevice measures one device of a node in a scan of DRANET.
func BenchmarkDevice(b *testing.B) {
	p := load(b)
	d := device.Device{Name: "pci-0000-27-00-0", PCI: "0000:27:00.0", MAC: "0a:00:00:00:00:01"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Attributes(b.Context(), d); err != nil {
			b.Fatal(err)
		}
		if _, err := p.DeviceConfig(b.Context(), d); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRequest measures the rules and quotas of a profile for an allocation.
func BenchmarkRequest(b *testing.B) {
	p := load(b)
	s := policy.Subject{Profile: "acme.com/four", Node: "worker-1", Claim: &policy.Claim{UID: "1", Namespace: "default"}}
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Permit(b.Context(), s); err != nil {
			b.Fatal(err)
		}
		if _, err := p.Pool("four").Quotas(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
}
