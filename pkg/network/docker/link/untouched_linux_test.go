// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// TestKernelUntouched checks that correct links are only read: networks are checked each minute, and a change of a link
// takes a lock of the whole machine.
func TestKernelUntouched(t *testing.T) {
	for _, spec := range []Spec{
		{Kind: Bridge, Parent: "up0"}, {Kind: VXLAN, VNI: 7, Peers: []netip.Addr{netip.MustParseAddr("192.0.2.2")}}, {Kind: VXLAN, VNI: 7, Parent: "up0"}, {Kind: Macvlan, Parent: "up0"},
	} {
		m := newMachine(t)
		m.parent(t, "up0")
		s := Segment{Network: id(0), Spec: spec}
		ensure := func() {
			m.must(t, m.EnsureSegment(t.Context(), s))
		}
		changes, done := make(chan netlink.LinkUpdate, 1000), make(chan struct{})
		handle := netns.NsHandle(int(m.File.Fd()))
		m.must(t, netlink.LinkSubscribeWithOptions(changes, done, netlink.LinkSubscribeOptions{Namespace: &handle}))
		// The kernel's notifications until a new link appears are all earlier changes.
		marks := 0
		said := func() (all []string) {
			marks++
			mark := m.add(t, &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: fmt.Sprint("mark", marks)}})
			for change := range changes {
				if change.Attrs().Index == mark.Attrs().Index {
					break
				}
				if strings.HasPrefix(change.Attrs().Name, "mark") {
					continue
				}
				all = append(all, fmt.Sprintf("%s (%d)", change.Attrs().Name, change.Header.Type))
			}
			return all
		}
		ensure()
		said()
		// Carriers come when the kernel has time for them, which is a change, too: but not each time.
		last := []string{"nothing was asked"}
		for round := 0; len(last) > 0 && round < 20; round++ {
			time.Sleep(time.Duration(round) * 10 * time.Millisecond)
			said()
			ensure()
			last = said()
		}
		if len(last) > 0 {
			t.Errorf("%s on %q: changed were %v", spec.Kind, spec.Parent, last)
		}
		close(done)
	}
}
