// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/test/namespace"
)

// TestTunnelOmitsPeersOfOtherFamily checks that a tunnel omits peers of the other address family, logs each once, and reaches all others.
func TestTunnelOmitsPeersOfOtherFamily(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []string
		self    string
		nodes   []string
		ends    []string
		left    []string
	}{
		{
			name: "the peers decide the family", options: []string{"peers=192.0.2.9"}, nodes: []string{"2001:db8::9", "192.0.2.3"},
			ends: []string{"192.0.2.9", "192.0.2.3"}, left: []string{"2001:db8::9"},
		},
		{
			name: "the local address decides the family", options: []string{"local=2001:db8::1"}, nodes: []string{"2001:db8::9", "192.0.2.3"},
			ends: []string{"local 2001:db8::1", "2001:db8::9"}, left: []string{"192.0.2.3"},
		},
		{
			name: "this machine decides the family", self: "2001:db8::1", nodes: []string{"2001:db8::9", "192.0.2.3"},
			ends: []string{"local 2001:db8::1", "2001:db8::9"}, left: []string{"192.0.2.3"},
		},
		{
			name: "this machine has another family than its peers", options: []string{"peers=192.0.2.9"}, self: "2001:db8::1", nodes: []string{"192.0.2.3"},
			ends: []string{"192.0.2.9", "192.0.2.3"}, left: []string{"2001:db8::1"},
		},
		{name: "the nodes decide the family", nodes: []string{"1001:db8::9", "192.0.2.3"}, ends: []string{"192.0.2.3"}, left: []string{"1001:db8::9"}},
		{name: "a single node decides the family", nodes: []string{"2001:db8::9"}, ends: []string{"2001:db8::9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.create(bare("net", append(c.options, "kind=vxlan", "vni=7")...))
			if c.self != "" {
				w.self(c.self)
			}
			for _, node := range c.nodes {
				w.must(discovered(node, false)(w))
			}
			w.must(w.Reconcile(t.Context()))
			w.same("ends", c.ends, w.ends("net"))
			s := w.kernel.segments["net"]
			if problems := s.Problems(); len(problems) > 0 {
				t.Errorf("the kernel got impossible settings: %v", problems)
			}
			if len(w.reports) != len(c.left) {
				t.Errorf("reported %s, not %s", w.reports, c.left)
			}
			for i, left := range c.left {
				if i < len(w.reports) && !strings.Contains(w.reports[i], "leaves out the machine "+left) {
					t.Errorf("got the report %q, want one that leaves out %s", w.reports[i], left)
				}
			}
		})
	}
}

// TestSweepRestoresLinks checks that the next sweep restores lost links, and links that failed at the start.
func TestSweepRestoresLinks(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.create(bare("net", "profile=acme.com/tunnel"))
	w.create(bare("other", "parent=eth0"))
	w.must(discovered("192.0.2.3", false)(w))
	lost := errors.New("the parent is down")
	w.kernel.fail = func(call string) error {
		if call == "ensure net" {
			return lost
		}
		return nil
	}
	w.reboot()
	w.fails(w.Reconcile(ctx), lost, "of network net")
	w.kernel.fail = nil
	w.must(w.Reconcile(ctx))
	w.same("links", []string{"net", "other"}, w.kernel.has())
	w.same("ends", []string{"192.0.2.9", "192.0.2.3"}, w.ends("net"))
	w.kernel.clear()
	w.must(w.Reconcile(ctx))
	w.same("links", []string{"net", "other"}, w.kernel.has())
	w.same("ends", []string{"192.0.2.9", "192.0.2.3"}, w.ends("net"))
	if w.swept.Networks != nil {
		t.Errorf("removed %v", w.swept)
	}
}

// TestKernelSweepRestoresLinks does the same in the kernel: with a removed tunnel, and a parent that disappears and returns.
func TestKernelSweepRestoresLinks(t *testing.T) {
	h := newHost(t)
	ctx := t.Context()
	h.create(kinds()[link.VXLAN])
	h.create(driver.Network{ID: "outside", Options: mapOf("parent=eth0")})
	want := h.links()
	h.must(h.look.LinkDel(h.link("gx" + strings.TrimPrefix(link.InterfaceName("net"), "gv"))))
	h.must(h.look.LinkSetNoMaster(h.link("eth0")))
	h.must(h.Reconcile(ctx))
	h.same("links", want, h.links())
	if master := h.link("eth0").Attrs().MasterIndex; master == 0 {
		t.Error("the parent is not a port of the bridge")
	}
}

// TestKernelDamagedPort removes the port of a running container from its bridge and sets it down: the next
// reconciliation repairs it, and creates none for a container without its pair.
func TestKernelDamagedPort(t *testing.T) {
	for _, kind := range []link.Kind{link.Bridge, link.VXLAN} {
		t.Run(string(kind), func(t *testing.T) {
			h := newHost(t)
			ctx := t.Context()
			sandbox := namespace.NewMachine(t)
			h.create(kinds()[kind])
			h.attach(endpointOf(kind, "one", "172.30.0.2/24"))
			_, _, err := h.Join(ctx, "net", "one", sandbox.Path())
			h.must(err)
			h.move("one", sandbox)
			port, want := link.PortName("one"), h.links()
			h.must(h.look.LinkSetNoMaster(h.link(port)))
			h.must(h.look.LinkSetMTU(h.link(port), 1300))
			h.must(h.look.LinkSetDown(h.link(port)))
			h.must(h.Reconcile(ctx))
			h.same("links", want, h.links())
			a := h.link(port).Attrs()
			if a.MasterIndex == 0 || a.RawFlags&unix.IFF_UP == 0 || a.MTU != 1400 {
				t.Errorf("the port has the master %d, the flags %s and the MTU %d", a.MasterIndex, a.Flags, a.MTU)
			}
			h.must(h.look.LinkDel(h.link(port)))
			want = h.links()
			h.must(h.Reconcile(ctx))
			h.same("links", want, h.links())
		})
	}
}
