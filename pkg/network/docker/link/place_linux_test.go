// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestKernelRouterAdvertisements checks that router advertisements of a container add no route on this machine.
func TestKernelRouterAdvertisements(t *testing.T) {
	m, sandbox := newMachine(t), newMachine(t)
	s := Segment{Network: id(0), Spec: Spec{Kind: Bridge}, Gateways: prefixes("2001:db8::1/64")}
	file := filepath.Join(ipv6Settings, bridgeName(s.Network), "accept_ra")
	m.must(t, m.EnsureSegment(t.Context(), s))
	_, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(1)})
	m.must(t, err)
	m.give(t, id(1), sandbox, "eth0", "2001:db8::2/64", "fe80::2/64")
	talk(t, sandbox, m, "2001:db8::1", false)

	sandbox.advertise(t, "eth0")
	talk(t, sandbox, m, "2001:db8::1", false) // by then it has come
	if m.defaultRoute(t) {
		t.Error("the machine's network namespace got a default route")
	}

	// If it were taken, this test would see it.
	m.Do(t, func() error { return os.WriteFile(file, []byte("1"), 0) })
	for end := time.Now().Add(20 * time.Second); !m.defaultRoute(t) && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		sandbox.advertise(t, "eth0")
	}
	if !m.defaultRoute(t) {
		t.Error("the container has no default route, so this test proves nothing")
	}
	m.must(t, m.EnsureSegment(t.Context(), s))
	m.Do(t, func() error {
		accepts, err := os.ReadFile(file)
		if string(accepts) != "0\n" {
			t.Errorf("router advertisements are accepted: accept_ra is %q", accepts)
		}
		return err
	})
}

// advertise sends a router advertisement (RFC 4861, 4.2) to all nodes on a link.
func (m machine) advertise(t *testing.T, name string) {
	t.Helper()
	index := m.link(t, name).Attrs().Index
	m.Do(t, func() error {
		socket, err := unix.Socket(unix.AF_INET6, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMPV6)
		if err != nil {
			return err
		}
		defer unix.Close(socket)
		for option, value := range map[int]int{unix.IPV6_MULTICAST_HOPS: 255, unix.IPV6_MULTICAST_IF: index} {
			if err := unix.SetsockoptInt(socket, unix.IPPROTO_IPV6, option, value); err != nil {
				return err
			}
		}
		if err := unix.Bind(socket, &unix.SockaddrInet6{Addr: netip.MustParseAddr("fe80::2").As16(), ZoneId: uint32(index)}); err != nil {
			return err
		}
		const lifetime = 1800
		message := []byte{134, 0, 0, 0, 64, 0, lifetime >> 8, lifetime & 0xff, 0, 0, 0, 0, 0, 0, 0, 0}
		return unix.Sendto(socket, message, 0, &unix.SockaddrInet6{Addr: netip.MustParseAddr("ff02::1").As16(), ZoneId: uint32(index)})
	})
}

// defaultRoute reports whether a machine has one of IPv6.
func (m machine) defaultRoute(t *testing.T) bool {
	t.Helper()
	routes, err := m.look.RouteList(nil, unix.AF_INET6)
	m.must(t, err)
	for _, route := range routes {
		if route.Dst == nil || route.Dst.IP.IsUnspecified() && route.Gw != nil {
			return true
		}
	}
	return false
}

// TestKernelBridgeAddsNoIPv6Address checks that a bridge without an IPv6 gateway adds no IPv6 address to this machine.
func TestKernelBridgeAddsNoIPv6Address(t *testing.T) {
	m := newMachine(t)
	s := Segment{Network: id(0), Spec: Spec{Kind: VXLAN, VNI: 7}, Gateways: prefixes("192.0.2.1/24")}
	m.must(t, m.EnsureSegment(t.Context(), s))
	_, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(1)})
	m.must(t, err)
	m.must(t, m.look.LinkSetUp(m.link(t, InterfaceName(id(1)))))
	for end := time.Now().Add(10 * time.Second); m.link(t, PortName(id(1))).Attrs().OperState != netlink.OperUp && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	for _, name := range []string{bridgeName(id(0)), tunnelName(id(0)), PortName(id(1))} {
		if addresses, err := m.look.AddrList(m.link(t, name), unix.AF_INET6); err != nil || len(addresses) > 0 {
			t.Errorf("%s has %v: %v", name, addresses, err)
		}
	}
}
