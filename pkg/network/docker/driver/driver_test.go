// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// fails is that something fails for a reason, with a text.
func (w *world) fails(err, reason error, text string) {
	w.t.Helper()
	if !errors.Is(err, reason) || !strings.Contains(err.Error(), text) {
		w.t.Errorf("got the error %v, want %v with %q", err, reason, text)
	}
}

var alike = cmp.Options{cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{}), cmpopts.EquateEmpty()}

// TestNetworkLifecycleWithRepeatedCalls is a network and an endpoint from the beginning to the end, each call twice.
func TestNetworkLifecycleWithRepeatedCalls(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	n := plain("net", "172.30.0.0/24", "172.30.0.1", "mtu=1400")
	asked := endpoint("net", "ep", "172.30.0.2/24")
	want := asked
	want.Gateways = []netip.Addr{netip.MustParseAddr("172.30.0.1")}
	for range 2 {
		w.create(n)
		made := w.attach(asked)
		if len(made.MAC) != 6 || made.MAC[0]&3 != 2 {
			t.Errorf("the MAC address %s is not a locally administered unicast address", made.MAC)
		}
		want.MAC = made.MAC
		if diff := cmp.Diff(want, made, alike); diff != "" {
			t.Errorf("the endpoint (-want +got):\n%s", diff)
		}
	}
	w.same("rows", []string{"endpoint/net/ep", "network/net"}, w.rows())
	w.same("links", []string{"net", "net/ep"}, w.kernel.has())
	for range 2 {
		want.Sandbox = "/sandbox"
		e, of, err := w.Join(ctx, "net", "ep", "/sandbox")
		w.must(err)
		if diff := cmp.Diff(want, e, alike); diff != "" || of.Link.MTU != 1400 {
			t.Errorf("joined %v with (-want +got):\n%s", of, diff)
		}
		w.kernel.move("ep", true)
	}
	if got, _, err := w.Endpoint(ctx, "net", "ep"); err != nil || got.Sandbox != "/sandbox" {
		t.Errorf("got %v and %v", got, err)
	}
	w.same("rows of a joined endpoint", []string{"endpoint/net/ep", "network/net"}, w.rows())
	for range 2 {
		w.must(w.Leave(ctx, "net", "ep"))
	}
	w.same("links after Leave", []string{"net", "net/ep"}, w.kernel.has())
	w.kernel.move("ep", false)
	for range 2 {
		w.must(w.DeleteEndpoint(ctx, "net", "ep"))
	}
	w.same("links", []string{"net"}, w.kernel.has())
	for range 2 {
		w.must(w.DeleteNetwork(ctx, "net"))
	}
	w.same("links", nil, w.kernel.has())
	w.same("rows", nil, w.rows())
}

func TestUnknownNetworksAndEndpoints(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	_, err := w.CreateEndpoint(ctx, endpoint("net", "ep"))
	w.fails(err, driver.ErrUnknownNetwork, "net")
	_, err = w.Network(ctx, "net")
	w.fails(err, driver.ErrUnknownNetwork, "net")
	_, _, err = w.Join(ctx, "net", "ep", "/s")
	w.fails(err, driver.ErrUnknownNetwork, "net")
	w.create(bare("net"))
	_, _, err = w.Join(ctx, "net", "ep", "/s")
	w.fails(err, driver.ErrUnknownEndpoint, "ep")
	_, _, err = w.Endpoint(ctx, "net", "ep")
	w.fails(err, driver.ErrUnknownEndpoint, "ep")
}

// TestRequestedAddressesAndMACs checks that valid requests are honoured and invalid ones rejected.
func TestRequestedAddressesAndMACs(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	n := plain("net", "172.30.0.0/24", "172.30.0.1")
	n.Subnets[0].Auxiliary = map[string]netip.Addr{"printer": netip.MustParseAddr("172.30.0.9")}
	n.Subnets = append(n.Subnets, driver.Subnet{Space: "LocalDefault", Prefix: netip.MustParsePrefix("fd00:1::/64"), Gateway: netip.MustParseAddr("fd00:1::1")})
	w.create(n)
	e := endpoint("net", "ep", "172.30.0.2/24", "fd00:1::2/64")
	e.MAC, e.Name = network.HardwareAddr{2, 0, 0, 0, 0, 1}, "net7"
	e.Options = map[string]string{"com.docker.network.endpoint.sysctls": "x"}
	want := e
	want.Gateways = []netip.Addr{netip.MustParseAddr("172.30.0.1"), netip.MustParseAddr("fd00:1::1")}
	if diff := cmp.Diff(want, w.attach(e), alike); diff != "" {
		t.Errorf("the endpoint (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		e      driver.Endpoint
		reason error
		text   string
	}{
		{endpoint("net", "two", "172.30.0.2/24"), network.ErrTaken, "another endpoint has the address 172.30.0.2"},
		{endpoint("net", "two", "172.30.0.9/24"), network.ErrTaken, "172.30.0.9 is the auxiliary address printer"},
		{endpoint("net", "two", "fd00:1::1/64"), network.ErrTaken, "fd00:1::1 is the gateway's"},
		{endpoint("net", "two", "172.31.0.2/24"), link.ErrImpossible, "172.31.0.2 is in no subnet of the network"},
		{endpoint("net", "two", "172.30.0.66/24"), policy.ErrDenied, "172.30.0.66 is reserved"},
		{driver.Endpoint{Network: "net", ID: "two", MAC: e.MAC}, network.ErrTaken, "another endpoint has the MAC address 02:00:00:00:00:01"},
		{driver.Endpoint{Network: "net", ID: "two", MAC: network.HardwareAddr{1, 0, 0, 0, 0, 1}}, link.ErrImpossible, "01:00:00:00:00:01 is not a MAC address"},
		{with("vlna=7"), link.ErrImpossible, `no option "vlna" (did you mean "vlan"?); there is vlan`},
		{with("vlan=7"), link.ErrImpossible, "the option vlan is for networks of kind vlan"},
		{with("address=172.30.0.7"), link.ErrImpossible, `no option "address"`},
	} {
		_, err := w.CreateEndpoint(ctx, c.e)
		w.fails(err, c.reason, c.text)
	}
	w.same("rows", []string{"endpoint/net/ep", "network/net"}, w.rows())
	w.same("links", []string{"net", "net/ep"}, w.kernel.has())
}

func with(options ...string) driver.Endpoint {
	return driver.Endpoint{Network: "net", ID: "two", Options: mapOf(options...)}
}

// TestEndpointWithLeasedAddresses creates an endpoint with addresses that Docker leased from Graft's IPAM driver.
func TestEndpointWithLeasedAddresses(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	four, six := netip.MustParseAddr("10.64.1.7"), netip.MustParseAddr("fd00:64::107")
	mac := network.HardwareAddr{0x0a, 0x58, 1, 2, 3, 4}
	w.leases[four] = network.Allocation{Pool: "overlay", Addresses: []netip.Addr{four}, MAC: mac}
	w.leases[six] = network.Allocation{Pool: "overlay", Addresses: []netip.Addr{six}, MAC: network.HardwareAddr{0x0a, 0x58, 1, 2, 3, 5}}
	n := driver.Network{ID: "net", Subnets: []driver.Subnet{
		{Space: "graft-local", Prefix: netip.MustParsePrefix("10.64.0.0/16"), Gateway: netip.MustParseAddr("10.64.0.1")},
		{Space: "graft-local", Prefix: netip.MustParsePrefix("fd00:64::/64")},
	}}
	w.create(n)
	w.same("reports", nil, w.reports)
	want := endpoint("net", "ep", "10.64.1.7/16", "fd00:64::107/64")
	made := w.attach(want)
	want.MAC, want.Gateways = mac, []netip.Addr{netip.MustParseAddr("10.64.0.1"), netip.MustParseAddr("fe80::1")}
	want.Routes = []network.Route{
		{Destination: netip.MustParsePrefix("10.0.0.0/8"), Gateway: netip.MustParseAddr("10.64.0.2")}, {Destination: netip.MustParsePrefix("198.51.100.0/24")},
	}
	if diff := cmp.Diff(want, made, alike); diff != "" {
		t.Errorf("the endpoint (-want +got):\n%s", diff)
	}
	_, err := w.CreateEndpoint(ctx, endpoint("net", "two", "10.64.1.8/16"))
	w.fails(err, link.ErrImpossible, "the IPAM driver has not allocated 10.64.1.8")

	bound := w.leases[four]
	bound.Binding.MAC = network.HardwareAddr{2, 9, 9, 9, 9, 9}
	nine := netip.MustParseAddr("10.64.1.9")
	w.leases[nine] = bound
	e := endpoint("net", "three", "10.64.1.9/16")
	e.MAC = mac
	_, err = w.CreateEndpoint(ctx, e)
	w.fails(err, link.ErrImpossible, "0a:58:01:02:03:04 is requested, but the cloud chose 02:09:09:09:09:09")
	e.MAC = nil
	if got := w.attach(e); got.MAC.String() != "02:09:09:09:09:09" {
		t.Errorf("the MAC address is %s, want the cloud's", got.MAC)
	}
}

// TestVLANs checks that each endpoint gets its own VLAN.
func TestVLANs(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.create(spaced("net", "graft-local", "10.70.0.0/24", "", "profile=acme.com/trunk"))
	for i, address := range []string{"10.70.0.10", "10.70.0.11"} {
		leased := netip.MustParseAddr(address)
		w.leases[leased] = network.Allocation{Pool: "trunk", Addresses: []netip.Addr{leased}, VLAN: uint16(100 + i)}
	}
	one, two := w.attach(endpoint("net", "one", "10.70.0.10/24")), w.attach(endpoint("net", "two", "10.70.0.11/24"))
	if one.VLAN != 100 || two.VLAN != 101 {
		t.Errorf("the VLANs are %d and %d", one.VLAN, two.VLAN)
	}
	w.create(bare("own", "kind=vlan", "parent=eth0"))
	_, err := w.CreateEndpoint(ctx, endpoint("own", "a"))
	w.fails(err, link.ErrImpossible, "needs the option vlan")
	taken := driver.Endpoint{Network: "own", ID: "a", Options: mapOf("vlan=100")}
	_, err = w.CreateEndpoint(ctx, taken)
	w.fails(err, network.ErrTaken, "another endpoint has the VLAN 100 of eth0")
	taken.Options = mapOf("vlan=7")
	if made := w.attach(taken); made.VLAN != 7 || w.kernel.ports["a"].VLAN != 7 {
		t.Errorf("asked for VLAN 7, got %d", made.VLAN)
	}
}

// TestRoutesOfEachKind checks the routes out of each kind of network.
func TestRoutesOfEachKind(t *testing.T) {
	for _, c := range []struct {
		name     string
		options  []string
		internal bool
		gateways []string
		routes   []string
		needs    bool
	}{
		{name: "bridge gives its gateway", gateways: []string{"172.30.0.1"}, needs: true},
		{name: "internal bridge gives no gateway", internal: true, needs: true},
		{name: "internal macvlan needs no gateway", internal: true, options: []string{"kind=macvlan", "parent=eth0"}},
		{name: "isolated bridge needs no gateway", options: []string{"isolated=true"}},
		{name: "macvlan gives the network's gateway", options: []string{"kind=macvlan", "parent=eth0"}, gateways: []string{"172.30.0.1"}, needs: true},
		{name: "ipvlan gives the network's gateway", options: []string{"kind=ipvlan", "parent=eth0"}, gateways: []string{"172.30.0.1"}, needs: true},
		{name: "ipvlan in mode l3 gives a route without a gateway", options: []string{"kind=ipvlan", "parent=eth0", "mode=l3"}, routes: []string{"0.0.0.0/0"}},
		{name: "ipvlan in mode l3s of an internal network gives no route", options: []string{"kind=ipvlan", "parent=eth0", "mode=l3s"}, internal: true},
		{name: "isolated network keeps its routes", options: []string{"profile=acme.com/tunnel"}, routes: []string{"203.0.113.0/24"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			n := plain("net", "172.30.0.0/24", "172.30.0.1", c.options...)
			n.Internal = c.internal
			checked, err := w.Check(t.Context(), n)
			w.must(err)
			if checked.NeedsGateway() != c.needs {
				t.Errorf("NeedsGateway() = %v, want the opposite", !c.needs)
			}
			w.create(n)
			made := w.attach(endpoint("net", "ep", "172.30.0.2/24"))
			var gateways, routes []string
			for _, g := range made.Gateways {
				gateways = append(gateways, g.String())
			}
			for _, r := range made.Routes {
				routes = append(routes, r.Destination.String())
			}
			w.same("gateways", c.gateways, gateways)
			w.same("routes", c.routes, routes)
			if shares := strings.HasPrefix(c.name, "ipvlan"); shares != (len(made.MAC) == 0) {
				t.Errorf("the MAC address is %s", made.MAC)
			}
		})
	}
}

// TestPassthru checks that an endpoint of macvlan in mode passthru requests no MAC address: it has the parent's.
func TestPassthru(t *testing.T) {
	w := newWorld(t)
	w.create(bare("net", "kind=macvlan", "parent=eth0", "mode=passthru"))
	w.attach(endpoint("net", "ep"))
	if mac := w.kernel.ports["ep"].MAC; len(mac) > 0 {
		t.Errorf("the kernel got the MAC address %s, want none", mac)
	}
}

func TestIpvlanHasNoMAC(t *testing.T) {
	w := newWorld(t)
	w.create(bare("net", "kind=ipvlan", "parent=eth0"))
	_, err := w.CreateEndpoint(t.Context(), driver.Endpoint{Network: "net", ID: "ep", MAC: network.HardwareAddr{2, 0, 0, 0, 0, 1}})
	w.fails(err, link.ErrImpossible, "remove the requested one")
}

// TestAddressOfMissingEndpointIsTaken checks that an address is taken from an endpoint that no longer exists.
func TestAddressOfMissingEndpointIsTaken(t *testing.T) {
	w := newWorld(t)
	w.create(plain("net", "172.30.0.0/24", "172.30.0.1"))
	w.attach(endpoint("net", "old", "172.30.0.2/24"))
	_, err := w.CreateEndpoint(t.Context(), endpoint("net", "new", "172.30.0.2/24"))
	w.fails(err, network.ErrTaken, "172.30.0.2")
	w.clock.Step(time.Minute)
	w.attach(endpoint("net", "new", "172.30.0.2/24"))
	w.same("rows", []string{"endpoint/net/new", "network/net"}, w.rows())
	_, _, err = w.Join(t.Context(), "net", "new", "/sandbox")
	w.must(err)
	w.clock.Step(time.Hour)
	_, err = w.CreateEndpoint(t.Context(), endpoint("net", "third", "172.30.0.2/24"))
	w.fails(err, network.ErrTaken, "172.30.0.2")
	w.dead["/sandbox"] = true
	w.attach(endpoint("net", "third", "172.30.0.2/24"))
}

// TestJoinOfAnotherSandbox checks that an endpoint can join another sandbox; Docker ensures one sandbox at a time.
func TestJoinOfAnotherSandbox(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.create(bare("net"))
	w.attach(endpoint("net", "ep"))
	_, _, err := w.Join(ctx, "net", "ep", "/one")
	w.must(err)
	got, _, err := w.Join(ctx, "net", "ep", "/two")
	w.must(err)
	if got.Sandbox != "/two" {
		t.Errorf("the sandbox is %s", got.Sandbox)
	}
	w.same("links", []string{"net", "net/ep"}, w.kernel.has())
}

// TestKernelFails checks that a failed creation leaves no links.
func TestKernelFails(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	broken := errors.New("the kernel is broken")
	w.kernel.fail = func(call string) error {
		if strings.HasPrefix(call, "ensure") || strings.HasPrefix(call, "port") {
			return broken
		}
		return nil
	}
	w.fails(w.CreateNetwork(ctx, bare("net", "profile=acme.com/plain")), broken, "making the links of network net")
	w.same("rows", nil, w.rows())
	fail := w.kernel.fail
	w.kernel.fail = nil
	w.create(bare("net", "profile=acme.com/plain"))
	w.kernel.fail = fail
	_, err := w.CreateEndpoint(ctx, endpoint("net", "ep"))
	w.fails(err, broken, "making the links of endpoint ep")
	w.same("rows", []string{"network/net"}, w.rows())
	w.kernel.fail = nil
	w.attach(endpoint("net", "ep"))
}

// TestRemovedLinksAreCreatedAgain checks that removed links are created again.
func TestRemovedLinksAreCreatedAgain(t *testing.T) {
	w := newWorld(t)
	w.create(bare("net"))
	w.attach(endpoint("net", "ep"))
	w.kernel.clear()
	_, _, err := w.Join(t.Context(), "net", "ep", "/sandbox")
	w.must(err)
	w.same("links", []string{"net", "net/ep"}, w.kernel.has())
}

var _ driver.Kernel = (*link.Kernel)(nil)
