// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// What is as it should be is only looked at: networks are looked at each minute, and changes of links wait for all others of the machine.
func TestKernelUntouched(t *testing.T) {
	for _, spec := range []Spec{
		{Kind: Bridge, Parent: "up0"}, {Kind: VXLAN, VNI: 7, Peers: []netip.Addr{netip.MustParseAddr("192.0.2.2")}}, {Kind: VXLAN, VNI: 7, Parent: "up0"}, {Kind: Macvlan, Parent: "up0"},
	} {
		m := newMachine(t)
		m.parent(t, "up0")
		s := Segment{Network: id(0), Spec: spec}
		ensure := func() {
			m.must(t, m.EnsureSegment(t.Context(), s))
			m.must(t, m.SetPeers(t.Context(), s, s.Peers))
		}
		ensure()
		time.Sleep(100 * time.Millisecond) // carriers come
		changes, done := make(chan netlink.LinkUpdate, 100), make(chan struct{})
		handle := netns.NsHandle(int(m.File.Fd()))
		m.must(t, netlink.LinkSubscribeWithOptions(changes, done, netlink.LinkSubscribeOptions{Namespace: &handle}))
		ensure()
		time.Sleep(100 * time.Millisecond)
		for len(changes) > 0 {
			change := <-changes
			t.Errorf("%s on %q: %s was changed (%d)", spec.Kind, spec.Parent, change.Attrs().Name, change.Header.Type)
		}
		close(done)
	}
}
