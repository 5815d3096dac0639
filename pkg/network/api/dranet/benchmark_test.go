// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api/dranet"
)

// BenchmarkRequests measures the cost of a request without the disk, with a ledger in memory.
func BenchmarkRequests(b *testing.B) {
	w := newWorld(b, "testdata/benchmark.yaml", nil)
	w.options.Log = logr.Discard()
	w.handler = dranet.New(w.options)
	const d = `{"mac_address":"46:8f:01:02:03:04","pci_address":"0000:27:00.2","name":"pci-0000-27-00-2"}`
	for _, c := range []struct {
		name, path string
		body       func(i int) string
	}{
		{"GetDeviceAttributes", "/GetDeviceAttributes", func(int) string { return d }},
		{"GetDeviceConfig", "/GetDeviceConfig", func(int) string { return d }},
		{"GetProfileConfig", "/GetProfileConfig", func(i int) string { return ask(fmt.Sprint("claim-", i), d) }},
		{"GetProfileConfig again", "/GetProfileConfig", func(int) string { return ask("claim-0", d) }},
		{"ReleaseProfileConfig", "/ReleaseProfileConfig", func(i int) string { return ask(fmt.Sprint("claim-", i), d) }},
	} {
		i := 0
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if status, answer := w.post(c.path, c.body(i)); status != http.StatusOK {
					b.Fatal(status, answer)
				}
				i++
			}
		})
	}
}
