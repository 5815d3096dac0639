// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"net/netip"
	"testing"
)

func (w *world) self(address string) {
	w.t.Helper()
	w.must(w.Discovered(w.t.Context(), netip.MustParseAddr(address), true, false))
}

// ends are the local address and the peers of a tunnel in the kernel.
func (w *world) ends(network string) []string {
	var all []string
	if local := w.kernel.segments[network].Local; local.IsValid() {
		all = append(all, "local "+local.String())
	}
	for _, peer := range w.kernel.peers[network] {
		all = append(all, peer.String())
	}
	return all
}

// TestNewSelf checks that the last reported address of this machine is used, and that its peers stay, because Docker
// does not repeat them.
func TestNewSelf(t *testing.T) {
	w := newWorld(t)
	w.create(bare("net", "profile=acme.com/tunnel"))
	w.must(discovered("192.0.2.3", false)(w))
	for _, c := range []struct {
		self       string
		rows, ends []string
	}{
		{"192.0.2.1", []string{"node/192.0.2.1", "node/192.0.2.3"}, []string{"local 192.0.2.1", "192.0.2.9", "192.0.2.3"}},
		{"192.0.2.7", []string{"node/192.0.2.3", "node/192.0.2.7"}, []string{"local 192.0.2.7", "192.0.2.9", "192.0.2.3"}},
		{"192.0.2.3", []string{"node/192.0.2.3"}, []string{"local 192.0.2.3", "192.0.2.9"}}, // which was a peer's
		{"192.0.2.1", []string{"node/192.0.2.1"}, []string{"local 192.0.2.1", "192.0.2.9"}},
	} {
		w.self(c.self)
		w.same("rows after "+c.self, append([]string{"network/net"}, c.rows...), w.rows())
		w.same("ends after "+c.self, c.ends, w.ends("net"))
		w.restart()
		w.same("ends of "+c.self+" after a restart", c.ends, w.ends("net"))
	}
}
