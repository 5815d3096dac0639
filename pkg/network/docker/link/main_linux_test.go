// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"go4.org/netipx"
	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/test/namespace"
)

// Tests that need the kernel are called TestKernel…: each has networks of its own.
func TestMain(m *testing.M) { os.Exit(namespace.Main(m, namespace.Options{})) }

// machine is a network namespace of a machine, with a Kernel and functions to inspect it.
type machine struct {
	*namespace.Machine
	*Kernel
	look *netlink.Handle
}

func newMachine(t testing.TB) machine {
	t.Helper()
	m := machine{Machine: namespace.NewMachine(t)}
	m.Do(t, func() (err error) {
		if m.Kernel, err = Open(30 * time.Second); err != nil {
			return err
		}
		m.look, err = netlink.NewHandle(unix.NETLINK_ROUTE)
		return err
	})
	t.Cleanup(func() {
		m.look.Close()
		m.Kernel.Close()
	})
	return m
}

// lacks returns the reason why this kernel does not support a kind, or nil. The tests of such a kind check its error.
func (m machine) lacks(t testing.TB, kind Kind) error {
	t.Helper()
	return m.Probe(t.Context())[kind]
}

// names returns the names of all links except the loopback.
func (m machine) names(t testing.TB) []string {
	t.Helper()
	names := []string{}
	for _, link := range m.list(t) {
		names = append(names, link.Attrs().Name)
	}
	slices.Sort(names)
	return names
}

func (m machine) list(t testing.TB) []netlink.Link {
	t.Helper()
	links, err := m.look.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(links, func(link netlink.Link) bool { return link.Attrs().Name == "lo" })
}

func (m machine) link(t testing.TB, name string) netlink.Link {
	t.Helper()
	link, err := m.look.LinkByName(name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return link
}

// add creates a foreign link.
func (m machine) add(t testing.TB, link netlink.Link) netlink.Link {
	t.Helper()
	if err := m.look.LinkAdd(link); err != nil {
		t.Fatalf("%s: %v", link.Attrs().Name, err)
	}
	return m.link(t, link.Attrs().Name)
}

func (m machine) must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wire connects two machines by a pair of interfaces that are up.
func wire(t testing.TB, a machine, nameA string, b machine, nameB string) {
	t.Helper()
	pair := &netlink.Veth{LinkAttrs: netlink.NewLinkAttrs(), PeerName: nameB, PeerNamespace: netlink.NsFd(b.File.Fd())}
	pair.Name = nameA
	a.add(t, pair)
	a.must(t, a.look.LinkSetUp(a.link(t, nameA)))
	b.must(t, b.look.LinkSetUp(b.link(t, nameB)))
}

// parent creates an isolated interface on a machine.
func (m machine) parent(t testing.TB, name string) netlink.Link {
	t.Helper()
	pair := &netlink.Veth{LinkAttrs: netlink.NewLinkAttrs(), PeerName: name + "x"}
	pair.Name = name
	m.add(t, pair)
	m.must(t, m.look.LinkSetUp(m.link(t, name+"x")))
	m.must(t, m.look.LinkSetUp(m.link(t, name)))
	return m.link(t, name)
}

// address adds an address to an interface of a machine.
func (m machine) address(t testing.TB, name, prefix string) {
	t.Helper()
	m.must(t, m.look.AddrAdd(m.link(t, name), &netlink.Addr{IPNet: netipx.PrefixIPNet(netip.MustParsePrefix(prefix)), Flags: unix.IFA_F_NODAD}))
}

// give moves the interface of an endpoint into a sandbox, as Docker does: under another name, with addresses, up.
func (m machine) give(t testing.TB, endpoint string, sandbox machine, name string, prefixes ...string) {
	t.Helper()
	link := m.link(t, InterfaceName(endpoint))
	m.must(t, m.look.LinkSetNsFd(link, int(sandbox.File.Fd())))
	inside := sandbox.link(t, InterfaceName(endpoint))
	m.must(t, sandbox.look.LinkSetName(inside, name))
	for _, prefix := range prefixes {
		sandbox.address(t, name, prefix)
	}
	m.must(t, sandbox.look.LinkSetUp(inside))
}

// talk sends a line from one machine to an address of another and back, or checks that they do not reach each other.
func talk(t testing.TB, from, to machine, address string, never bool) {
	t.Helper()
	switch err := try(t, from, to, address, never); {
	case never && err == nil:
		t.Fatalf("%s can be reached", address)
	case !never && err != nil:
		t.Fatalf("talking to %s: %v", address, err)
	}
}

func try(t testing.TB, from, to machine, address string, never bool) error {
	t.Helper()
	patience := 20 * time.Second
	if never {
		patience = 300 * time.Millisecond
	}
	var listener net.Listener
	to.Do(t, func() (err error) {
		listener, err = net.Listen("tcp", net.JoinHostPort(address, "0"))
		return err
	})
	defer listener.Close()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			line, _ := bufio.NewReader(conn).ReadString('\n')
			fmt.Fprint(conn, line)
			conn.Close()
		}
	}()
	return from.Try(func() error {
		conn, err := net.DialTimeout("tcp", listener.Addr().String(), patience)
		if err != nil {
			return err
		}
		defer conn.Close()
		said := strings.Repeat("graft", 2000) // more than one packet
		fmt.Fprintln(conn, said)
		if line, err := bufio.NewReader(conn).ReadString('\n'); line != said+"\n" {
			return fmt.Errorf("answered %d bytes: %v", len(line), err)
		}
		return nil
	})
}

// id is an identifier as Docker makes them, of a number.
func id(number int) string { return digest(fmt.Sprint(number)) }

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

func mac(text string) network.HardwareAddr {
	parsed, err := net.ParseMAC(text)
	if err != nil {
		panic(err)
	}
	return network.HardwareAddr(parsed)
}
