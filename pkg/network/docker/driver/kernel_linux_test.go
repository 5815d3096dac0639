// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/test/namespace"
)

// Tests that need the kernel are called TestKernel…: each has a network of its own.
func TestMain(m *testing.M) { os.Exit(namespace.Main(m, namespace.Options{})) }

// host is a separate machine with an isolated interface eth0, and a world on it.
type host struct {
	*world
	*namespace.Machine
	kernel *link.Kernel
	look   *netlink.Handle
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{world: newWorld(t)}
	h.boot()
	return h
}

// boot starts the machine, the program on it included; nothing of the kernel is as it was.
func (h *host) boot() {
	h.t.Helper()
	h.Machine = namespace.NewMachine(h.t)
	h.Do(h.t, func() (err error) {
		if h.kernel, err = link.Open(30 * time.Second); err != nil {
			return err
		}
		h.look, err = netlink.NewHandle(unix.NETLINK_ROUTE)
		return err
	})
	look, kernel := h.look, h.kernel // a later boot replaces them, and Close waits when it is called twice
	h.t.Cleanup(func() {
		look.Close()
		h.must(kernel.Close())
	})
	pair := &netlink.Veth{LinkAttrs: netlink.NewLinkAttrs(), PeerName: "eth0x"}
	pair.Name = "eth0"
	h.must(h.look.LinkAdd(pair))
	for _, name := range []string{"eth0", "eth0x"} {
		h.must(h.look.LinkSetUp(h.link(name)))
	}
	h.run()
}

// run starts the program on the machine.
func (h *host) run() {
	h.t.Helper()
	h.real = h.kernel
	h.options.Boot = h.Path()
	h.restart()
}

func (h *host) link(name string) netlink.Link {
	h.t.Helper()
	found, err := h.look.LinkByName(name)
	if err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
	return found
}

// links returns the names of all links except the loopback and preexisting ones.
func (h *host) links() []string {
	h.t.Helper()
	all, err := h.look.LinkList()
	h.must(err)
	var names []string
	for _, l := range all {
		if name := l.Attrs().Name; name != "lo" && !strings.HasPrefix(name, "eth0") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// move moves the interface of an endpoint into a sandbox under another name, as Docker does.
func (h *host) move(endpoint string, sandbox *namespace.Machine) {
	h.t.Helper()
	h.must(h.look.LinkSetNsFd(h.link(link.InterfaceName(endpoint)), int(sandbox.File.Fd())))
	h.inside(endpoint, sandbox, func(look *netlink.Handle, l netlink.Link) error { return look.LinkSetUp(l) })
}

// back moves it back.
func (h *host) back(endpoint string, sandbox *namespace.Machine) {
	h.t.Helper()
	h.inside(endpoint, sandbox, func(look *netlink.Handle, l netlink.Link) error { return look.LinkSetNsFd(l, int(h.File.Fd())) })
}

func (h *host) inside(endpoint string, sandbox *namespace.Machine, do func(*netlink.Handle, netlink.Link) error) {
	h.t.Helper()
	sandbox.Do(h.t, func() error {
		look, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer look.Close()
		l, err := look.LinkByName(link.InterfaceName(endpoint))
		if err != nil {
			return err
		}
		return do(look, l)
	})
}

// kinds are networks of all kinds that need nothing but this machine.
func kinds() map[link.Kind]driver.Network {
	return map[link.Kind]driver.Network{
		link.Bridge:  plain("net", "172.30.0.0/24", "172.30.0.1", "mtu=1400"),
		link.Macvlan: plain("net", "172.30.0.0/24", "172.30.0.1", "kind=macvlan", "parent=eth0", "mtu=1400"),
		link.Ipvlan:  plain("net", "172.30.0.0/24", "172.30.0.1", "kind=ipvlan", "parent=eth0", "mtu=1400"),
		link.VLAN:    plain("net", "172.30.0.0/24", "172.30.0.1", "kind=vlan", "parent=eth0", "mtu=1400"),
		link.VXLAN:   plain("net", "172.30.0.0/24", "172.30.0.1", "kind=vxlan", "vni=7", "mtu=1400", "peers=192.0.2.2"),
	}
}

// here returns the kinds that this kernel supports. For all other kinds, it checks the error, and that nothing is left.
func (h *host) here() []link.Kind {
	h.t.Helper()
	missing := h.kernel.Probe(h.t.Context())
	var there []link.Kind
	for _, kind := range link.Kinds() {
		if missing[kind] == nil {
			there = append(there, kind)
			continue
		}
		err := h.CreateNetwork(h.t.Context(), kinds()[kind])
		h.fails(err, link.ErrImpossible, string(kind))
		h.same("rows without "+string(kind), nil, h.rows())
		h.same("links without "+string(kind), nil, h.links())
	}
	return there
}

func endpointOf(kind link.Kind, id, address string) driver.Endpoint {
	e := endpoint("net", id, address)
	if kind == link.VLAN {
		e.Options = mapOf("vlan=" + fmt.Sprint(40+len(id)))
	}
	return e
}

// TestKernelLife is a network of each kind from the beginning to the end, with a restart between any two calls.
func TestKernelLife(t *testing.T) {
	for _, kind := range newHost(t).here() {
		t.Run(string(kind), func(t *testing.T) {
			h := newHost(t)
			ctx := t.Context()
			sandbox := namespace.NewMachine(t)
			again := func() { h.t.Helper(); h.restart() }
			h.create(kinds()[kind])
			again()
			one := h.attach(endpointOf(kind, "one", "172.30.0.2/24"))
			again()
			if got := h.attach(endpointOf(kind, "one", "172.30.0.2/24")); got.MAC.String() != one.MAC.String() {
				t.Errorf("the MAC address was %s and is %s", one.MAC, got.MAC)
			}
			found := h.link(link.InterfaceName("one"))
			if found.Attrs().MTU != 1400 || kind != link.Ipvlan && found.Attrs().HardwareAddr.String() != one.MAC.String() {
				t.Errorf("the MTU is %d and the MAC address %s", found.Attrs().MTU, found.Attrs().HardwareAddr)
			}
			for range 2 {
				_, _, err := h.Join(ctx, "net", "one", sandbox.Path())
				h.must(err)
				again()
				if _, err := h.look.LinkByName(link.InterfaceName("one")); err == nil {
					h.move("one", sandbox)
				}
			}
			h.must(h.Leave(ctx, "net", "one"))
			again()
			h.back("one", sandbox)
			h.must(h.DeleteEndpoint(ctx, "net", "one"))
			again()
			h.must(h.DeleteNetwork(ctx, "net"))
			h.same("links", nil, h.links())
			h.same("rows", nil, h.rows())
		})
	}
}

// TestKernelReboot checks that a reboot restores networks and removes endpoints.
func TestKernelReboot(t *testing.T) {
	for _, kind := range newHost(t).here() {
		t.Run(string(kind), func(t *testing.T) {
			h := newHost(t)
			h.create(kinds()[kind])
			want := h.links()
			h.attach(endpointOf(kind, "one", "172.30.0.2/24"))
			h.boot()
			h.same("links", want, h.links())
			h.same("reports", nil, h.reports)
			h.same("rows", []string{"network/net"}, h.rows())
			h.attach(endpointOf(kind, "two", "172.30.0.2/24"))
			h.must(h.DeleteNetwork(t.Context(), "net"))
			h.same("links", nil, h.links())
		})
	}
}

// TestKernelSandboxGone checks that an endpoint of a vanished sandbox is removed, and a link without a row.
func TestKernelSandboxGone(t *testing.T) {
	h := newHost(t)
	ctx := t.Context()
	h.create(kinds()[link.Bridge])
	h.attach(endpoint("net", "one", "172.30.0.2/24"))
	h.attach(endpoint("net", "two", "172.30.0.3/24"))
	join := func(id string, sandbox *namespace.Machine) {
		_, _, err := h.Join(ctx, "net", id, sandbox.Path())
		h.must(err)
		h.move(id, sandbox)
	}
	join("one", namespace.NewMachine(t))
	t.Run("the sandbox ends after the join", func(t *testing.T) { join("two", namespace.NewMachine(t)) }) // which ends with it
	lost := netlink.NewLinkAttrs()
	lost.Name = bridgeOf("lost")
	h.must(h.look.LinkAdd(&netlink.Bridge{LinkAttrs: lost}))
	h.must(h.look.LinkSetAlias(h.link(bridgeOf("lost")), "graft/lost"))
	other := netlink.NewLinkAttrs()
	other.Name = "gbother"
	h.must(h.look.LinkAdd(&netlink.Bridge{LinkAttrs: other}))
	for deadline := time.Now().Add(20 * time.Second); len(h.links()) > 4; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the veth pair was not removed: %s", h.links())
		}
	}
	h.must(h.Reconcile(ctx))
	h.same("removed", nil, h.swept.Links)
	h.same("removed", nil, h.swept.Endpoints)
	h.clock.Step(11 * time.Minute)
	h.must(h.Reconcile(ctx))
	h.same("removed", []string{bridgeOf("lost")}, h.swept.Links)
	h.same("removed", []string{"net/two"}, h.swept.Endpoints)
	h.same("rows", []string{"endpoint/net/one", "network/net"}, h.rows())
	h.must(h.DeleteNetwork(ctx, "net"))
	h.same("links", []string{"gbother"}, h.links())
}

// bridgeOf returns the name of a network's bridge.
func bridgeOf(network string) string {
	return "gb" + strings.TrimPrefix(link.InterfaceName(network), "gv")
}

// TestKernelCrash stops the program at every call of the kernel and every row, before and after it is done.
func TestKernelCrash(t *testing.T) {
	machine := newHost(t)
	for _, kind := range []link.Kind{link.Bridge, link.Macvlan} { // one with interfaces that can be found from here, and one without
		for _, after := range []bool{false, true} {
			for at, over := 1, false; !over; at++ {
				t.Run(fmt.Sprintf("%s/%d/%v", kind, at, after), func(t *testing.T) {
					h := &host{newWorld(t), machine.Machine, machine.kernel, machine.look}
					h.run()
					m := made{}
					s := story{
						net(kinds()[kind]), m.create(endpointOf(kind, "one", "172.30.0.2/24")), m.create(endpointOf(kind, "second", "172.30.0.3/24")),
						joinHere("one"), leaveHere("one"), remove("net", "one"), m.create(endpointOf(kind, "three", "172.30.0.2/24")), dissolve("net"),
					}
					h.crash.steps, h.crash.at, h.crash.after = 0, at, after
					came := s.tell(h.world, 0)
					if over = !h.crash.stopped; !over {
						h.restart()
						if came = s.tell(h.world, came); came != len(s) {
							t.Fatalf("the scenario stopped at step %d", came)
						}
					}
					h.same("links", nil, h.links())
					h.same("rows", nil, h.rows())
				})
			}
		}
	}
}

func joinHere(id string) func(w *world) error {
	return func(w *world) error {
		_, _, err := w.Join(w.t.Context(), "net", id, "/"+id)
		return err
	}
}

func leaveHere(id string) func(w *world) error {
	return func(w *world) error { return w.Leave(w.t.Context(), "net", id) }
}
