// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

// TestScopeGlobal runs a driver of scope global, as the managers and workers of a cluster call it.
func TestScopeGlobal(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, "docker: {scope: global}\n")
		defer obstacle(t, "wire0", "192.0.2.1/24")()
		w.before = w.links("")
		options := map[string]string{"kind": "vxlan", "vni": "4711", "local": "192.0.2.1"}
		if _, err := w.Allocate("graft", "0123456789abcdef0123456789abcdef", options); err != nil {
			t.Errorf("allocating: %v", err)
		}
		for _, gone := range []bool{false, false, true, true} { // each of them twice
			if err := w.Discover(engine.Notice{Driver: "graft", Address: "192.0.2.7", Gone: gone}); err != nil {
				t.Errorf("discovering: %v", err)
			}
		}
		if err := w.Discover(engine.Notice{Driver: "graft", Address: "192.0.2.1", Self: true}); err != nil {
			t.Errorf("discovering oneself: %v", err)
		}
		w.network(engine.Network{Name: "net", Four: four, Options: options})
		_, one := w.attach(engine.Endpoint{Network: "net", Name: "one"})
		_, other := w.attach(engine.Endpoint{Network: "net", Name: "other"})
		one.reaches(other, other.one().Addresses[0])
		w.detach("net", "one", "other")
		w.remove("net")
		if err := w.Free("graft", "0123456789abcdef0123456789abcdef"); err != nil {
			t.Errorf("freeing: %v", err)
		}
		w.clean()
	})
}
