// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vishvananda/netlink"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/namespace"
)

// TestMacvlan gives containers interfaces on a link of the machine with an external router.
func TestMacvlan(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, document, "")
		defer obstacle(t, "up0", "")()
		w.before = w.links("")
		w.network(engine.Network{Name: "net", Four: four, Options: map[string]string{"kind": "macvlan", "parent": "up0"}})
		_, one := w.attach(engine.Endpoint{Network: "net", Name: "one", Four: "172.31.9.10", MAC: "02:42:00:00:00:0a"})
		_, other := w.attach(engine.Endpoint{Network: "net", Name: "other", Four: "172.31.9.11"})
		want := view{"eth0", "02:42:00:00:00:0a", 1500, []string{"172.31.9.10/24"}, []string{"default via 172.31.9.1"}}
		if diff := cmp.Diff(want, one.one()); diff != "" {
			t.Errorf("the container sees (-want +got)\n%s", diff)
		}
		one.reaches(other, "172.31.9.11/24")
		_, err := w.CreateEndpoint(engine.Endpoint{Network: "net", Name: "third", MAC: "02:42:00:00:00:0a"})
		w.refused("a MAC address that another has", err, "02:42:00:00:00:0a")
		w.detach("net", "one", "other")
		w.remove("net")
		w.clean()
	})
}

// TestVXLAN connects two machines with containers in one network. One machine knows the other as a peer, and is
// discovered by it as in a Swarm.
func TestVXLAN(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		const far = "/run/far"
		if err := namespace.New(far); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := namespace.Remove(far); err != nil {
				t.Error(err)
			}
		}()
		defer wire(t, far)()
		a := beginIn(t, version, "graft", "", document, "docker: {connectivity: global}\n")
		b := beginIn(t, version, "faraway", far, document, "docker: {connectivity: global}\n")
		options := func(local, peer string) map[string]string {
			o := map[string]string{"kind": "vxlan", "vni": "4711", "local": local}
			if peer != "" {
				o["peers"] = peer
			}
			return o
		}
		a.network(engine.Network{Name: "net", Four: four, Options: options("192.0.2.1", "192.0.2.2")})
		b.network(engine.Network{Name: "net", Four: four, Options: options("192.0.2.2", "")})
		if err := b.Discover(engine.Notice{Driver: "faraway", Address: "192.0.2.1"}); err != nil {
			t.Error(err)
		}
		_, one := a.attach(engine.Endpoint{Network: "net", Name: "one", Four: "172.31.9.10"})
		_, other := b.attach(engine.Endpoint{Network: "net", Name: "other", Four: "172.31.9.11"})
		if diff := cmp.Diff(view{"eth0", one.one().MAC, 1450, []string{"172.31.9.10/24"}, []string{"default via 172.31.9.1"}}, one.one()); diff != "" {
			t.Errorf("the container sees (-want +got)\n%s", diff)
		}
		one.reaches(other, "172.31.9.11/24")
		other.reaches(one, "172.31.9.10/24")

		// peers reported by a Swarm survive a restart of the server
		b.kill()
		b.start()
		one.reaches(other, "172.31.9.11/24")
		if err := b.Discover(engine.Notice{Driver: "faraway", Address: "192.0.2.1", Gone: true}); err != nil {
			t.Error(err)
		}
		other.apart(one, "172.31.9.10/24")
		a.detach("net", "one")
		b.detach("net", "other")
		a.remove("net")
		b.remove("net")
		a.clean()
		b.clean()
	})
}

// wire connects this namespace with another one: 192.0.2.1 here, 192.0.2.2 there. It returns a function that removes
// it.
func wire(t *testing.T, far string) (remove func()) {
	t.Helper()
	remove = obstacle(t, "wire0", "192.0.2.1/24")
	peer, err := netlink.LinkByName("wire0p")
	if err != nil {
		t.Fatal(err)
	}
	space, err := namespace.Open(far)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = space.Close() }()
	if err := netlink.LinkSetNsFd(peer, int(space)); err != nil {
		t.Fatal(err)
	}
	if err := namespace.In(far, func() error {
		there, err := netlink.LinkByName("wire0p")
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(there, &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(192, 0, 2, 2), Mask: net.CIDRMask(24, 32)}}); err != nil {
			return err
		}
		return netlink.LinkSetUp(there)
	}); err != nil {
		t.Fatal(err)
	}
	return remove
}

// TestBridgeWithParent has a bridge with a link of the machine as a port: containers are in its network.
func TestBridgeWithParent(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, document, "")
		defer obstacle(t, "up0", "")()
		w.before = w.links("")
		w.network(engine.Network{Name: "net", Four: four, Options: map[string]string{"parent": "up0", "gateway": "outside"}})
		_, one := w.attach(engine.Endpoint{Network: "net", Name: "one", Four: "172.31.9.10"})
		want := []view{{"eth0", one.one().MAC, 1500, []string{"172.31.9.10/24"}, []string{"default via 172.31.9.1"}}}
		if diff := cmp.Diff(want, one.see(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the container sees (-want +got)\n%s", diff)
		}
		// the router is at the other end of the link
		router, err := netlink.LinkByName("up0p")
		if err != nil {
			t.Fatal(err)
		}
		address, err := netlink.ParseAddr("172.31.9.1/24")
		if err != nil {
			t.Fatal(err)
		}
		if err := netlink.AddrAdd(router, address); err != nil {
			t.Fatal(err)
		}
		one.reaches(&box{t: t}, "172.31.9.1/24")
		w.detach("net", "one")
		w.remove("net")
		up, err := netlink.LinkByName("up0")
		if err != nil || up.Attrs().MasterIndex != 0 {
			t.Errorf("the parent is still a port of a bridge: %v %v", up, err)
		}
		w.clean()
	})
}
