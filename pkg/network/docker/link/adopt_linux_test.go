// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import "testing"

// TestKernelBridgeRemoved removes the bridge of running containers: it is created again with the containers' ports
// only.
func TestKernelBridgeRemoved(t *testing.T) {
	m, one, two := newMachine(t), newMachine(t), newMachine(t)
	s := Segment{Network: id(0), Spec: Spec{Kind: Bridge}, Gateways: prefixes("192.0.2.1/24")}
	other := Segment{Network: id(3), Spec: Spec{Kind: Bridge}}
	m.must(t, m.EnsureSegment(t.Context(), s))
	m.must(t, m.EnsureSegment(t.Context(), other))
	for _, port := range []struct {
		s        Segment
		endpoint string
	}{{s, id(1)}, {s, id(2)}, {other, id(4)}} {
		_, err := m.EnsurePort(t.Context(), port.s, Port{Endpoint: port.endpoint})
		m.must(t, err)
	}
	m.give(t, id(1), one, "eth0", "192.0.2.2/24")
	m.give(t, id(2), two, "eth0", "192.0.2.3/24")
	m.must(t, m.look.LinkDel(m.link(t, bridgeName(s.Network))))
	m.must(t, m.EnsureSegment(t.Context(), s))
	for _, endpoint := range []string{id(1), id(2)} { // as the reconciler does
		_, err := m.EnsurePort(t.Context(), s, Port{Endpoint: endpoint})
		m.must(t, err)
	}
	talk(t, one, two, "192.0.2.3", false)
	talk(t, one, m, "192.0.2.1", false)
	if master, want := m.link(t, PortName(id(4))).Attrs().MasterIndex, m.link(t, bridgeName(other.Network)).Attrs().Index; master != want {
		t.Errorf("the endpoint of another network is a port of %d, want %d", master, want)
	}
}
