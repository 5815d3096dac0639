// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package docker_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// TestNetworks creates networks and checks their options and the reasons of refusals.
func TestNetworks(t *testing.T) {
	w := full(t)
	w.outside()
	w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/plain", "--subnet=172.31.9.0/24",
		"--gateway=172.31.9.1", "plain")
	var options map[string]string
	w.decode(w.docker("network", "inspect", "--format={{json .Options}}", "plain"), &options)
	if diff := cmp.Diff(map[string]string{"profile": "acme.com/plain"}, options); diff != "" {
		t.Error(diff)
	}
	w.run("one", "plain")
	link := w.link("one", "net0")
	if link.MTU != 1400 {
		t.Errorf("want the profile's MTU of 1400, got %+v", link)
	}
	if routes := w.in("one", "/bin/ip", "route"); !strings.Contains(routes, "192.0.2.0/24 via 172.31.9.1") ||
		!strings.Contains(routes, "default via 172.31.9.1") {
		t.Errorf("want the profile's routes and the default route, got %s", routes)
	}
	w.docker("rm", "--force", "one")
	w.docker("network", "rm", "plain")
	w.bare()
	w.refused([]string{"plain"}, "network", "inspect", "plain")

	for name, test := range map[string]struct {
		arguments string
		words     []string
	}{
		"an unknown option":         {"-o colour=red --subnet=172.31.1.0/24", []string{"colour", "profile", "kind", "parent"}},
		"an unknown profile":        {"-o profile=acme.com/overlya --subnet=172.31.1.0/24", []string{"acme.com/overlya"}},
		"an unknown kind":           {"-o kind=birdge --subnet=172.31.1.0/24", []string{"birdge", "bridge"}},
		"a kind of other kernels":   {"-o kind=ipvlan -o parent=up0 --subnet=172.31.1.0/24", []string{"ipvlan", "kernel"}},
		"a missing parent":          {"-o kind=macvlan -o parent=nic7 --subnet=172.31.1.0/24", []string{"nic7"}},
		"no parent":                 {"-o kind=macvlan --subnet=172.31.1.0/24", []string{"parent"}},
		"against its profile":       {"-o profile=acme.com/plain -o kind=macvlan --subnet=172.31.1.0/24", []string{"kind", "acme.com/plain"}},
		"a subnet of a pool":        {"-o kind=bridge --subnet=10.64.0.0/25", []string{"overlay", "--ipam-driver"}},
		"a pool without its IPAM":   {"-o profile=acme.com/overlay --subnet=172.31.1.0/24", []string{"--ipam-driver"}},
		"IPAM without a profile":    {"--ipam-driver=graft", []string{"profile"}},
		"IPAM with another profile": {"--ipam-driver=graft --ipam-opt=profile=acme.com/nothing", []string{"acme.com/nothing"}},
		"an option of IPAM":         {"--ipam-driver=graft --ipam-opt=prfile=acme.com/overlay", []string{"prfile", "profile"}},
		"a subnet of no pool":       {"--ipam-driver=graft --ipam-opt=profile=acme.com/overlay --subnet=172.31.1.0/24", []string{"172.31.1.0/24"}},
	} {
		w.Run(name, func(t *testing.T) {
			inner := *w
			inner.T = t
			inner.refused(test.words, append(strings.Fields("network create -d graft "+test.arguments), "wrong")...)
			inner.bare()
		})
	}
}

// kernelLink is a link as ip shows it.
type kernelLink struct {
	MTU     int
	Address string
}

// link is one that a container has, as the kernel shows it to those on the machine.
func (w *world) link(container, name string) kernelLink {
	w.Helper()
	pid := w.docker("inspect", "--format={{.State.Pid}}", container)
	text, err := w.machine.Run(w.ctx, "nsenter", "--target", pid, "--net", "ip", "-json", "link", "show", name)
	if err != nil {
		w.Fatal(err)
	}
	var found []kernelLink
	if err := json.Unmarshal([]byte(text), &found); err != nil || len(found) != 1 {
		w.Fatalf("%v in %s", err, text)
	}
	return found[0]
}

// TestTalk checks that containers communicate as their options say.
func TestTalk(t *testing.T) {
	w := full(t)
	w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/plain", "--ipv6", "--subnet=172.31.9.0/24",
		"--gateway=172.31.9.1",
		"--subnet=fd00:9::/64", "--gateway=fd00:9::1", "--aux-address=printer=172.31.9.2", "plain")
	w.run("one", "plain")
	w.run("two", "plain", "--ip=172.31.9.77", "--ip6=fd00:9::77", "--mac-address=02:42:ac:11:00:77")
	first, second := w.attached("one", "plain"), w.attached("two", "plain")
	if first.IPAddress != "172.31.9.3" { // .1 is the gateway, .2 the printer
		t.Errorf("an address: %+v", first)
	}
	if diff := cmp.Diff(attached{
		IPAddress: "172.31.9.77", GlobalIPv6Address: "fd00:9::77", MacAddress: "02:42:ac:11:00:77", Gateway: "172.31.9.1",
		IPv6Gateway: "fd00:9::1", IPPrefixLen: 24,
	}, second); diff != "" {
		t.Error(diff)
	}
	if link := w.link("two", "net0"); link.Address != "02:42:ac:11:00:77" {
		t.Errorf("the MAC address: %+v", link)
	}
	if link := w.link("one", "net0"); link.Address != first.MacAddress {
		t.Errorf("the MAC address in the kernel %+v differs from Docker's %+v", link, first)
	}
	w.both("one", "two", "plain")

	t.Log("TCP")
	w.docker("exec", "--detach", "two", "/bin/sh", "-c", "echo hello | nc -l -p 8080")
	if got := w.in("one", "/bin/sh", "-c", "i=0; while [ $i -lt 100 ]; do nc -w 2 172.31.9.77 8080 </dev/null && exit; i=$((i+1)); sleep 0.2; done"); got != "hello" {
		t.Errorf("unexpected output of the container two: %q", got)
	}

	t.Log("stopped and started, with the same addresses where they were asked for")
	w.docker("restart", "--time=0", "two")
	w.docker("stop", "--time=0", "two")
	w.docker("start", "two")
	if got := w.attached("two", "plain"); got != second {
		t.Errorf("the container's address changed: got %+v, want %+v", got, second)
	}
	w.both("one", "two", "plain")

	t.Log("connected and disconnected while it runs")
	w.docker("network", "create", "-d", "graft", "--subnet=172.31.10.0/24", "-o", "mtu=1300", "other")
	w.run("three", "other")
	w.docker("network", "connect", "--ip=172.31.10.9", "other", "one")
	w.both("one", "three", "other")
	w.docker("network", "disconnect", "other", "one")
	w.lost("three", "172.31.10.9")
	w.docker("network", "connect", "other", "one")
	w.both("one", "three", "other")
	w.both("one", "two", "plain")
	if link := w.link("three", "eth0"); link.MTU != 1300 {
		t.Errorf("the network's MTU is 1300: %+v", link)
	}

	t.Log("published ports are not to be had")
	w.refused([]string{"publish"}, "run", "--rm", "--network=plain", "--publish=8080:80", engine.Image, "/bin/true")
}

// both have two containers reach each other, with both families as far as they have them.
func (w *world) both(one, two, network string) {
	w.Helper()
	first, second := w.attached(one, network), w.attached(two, network)
	for from, to := range map[string]attached{one: second, two: first} {
		if to.IPAddress == "" && to.GlobalIPv6Address == "" {
			w.Fatalf("%s or %s has no address in %s", one, two, network)
		}
		if to.IPAddress != "" {
			w.reach(from, to.IPAddress)
		}
		if to.GlobalIPv6Address != "" {
			w.reach(from, to.GlobalIPv6Address)
		}
	}
}

// outside gives the machine an interface up0, which leads to a router in a separate namespace.
func (w *world) outside() {
	w.Helper()
	for _, line := range []string{
		"ip netns add far", "ip link add up0 type veth peer name far0 netns far", "ip link set up0 up",
		"ip -n far addr add 10.65.0.1/24 dev far0", "ip -n far link set far0 up", "ip -n far link set lo up",
	} {
		parts := strings.Fields(line)
		if _, err := w.machine.Run(w.ctx, parts[0], parts[1:]...); err != nil {
			w.Fatalf("%s: %v", line, err)
		}
	}
	w.links = w.allLinks()
}

// TestKinds has networks of other kinds, and such as have no way out.
func TestKinds(t *testing.T) {
	w := full(t)
	w.outside()

	t.Log("macvlan out of a profile, with its pool")
	w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/rack", "--ipam-driver=graft",
		"--ipam-opt=profile=acme.com/rack",
		"--subnet=10.65.0.0/24", "rack")
	w.run("one", "rack")
	w.run("two", "rack", "--ip=10.65.0.20")
	w.both("one", "two", "rack")
	w.reach("one", "10.65.0.1")
	w.docker("rm", "--force", "one", "two")
	w.docker("network", "rm", "rack")

	t.Log("macvlan by options, private: neighbours are not reached")
	w.docker("network", "create", "-d", "graft", "-o", "kind=macvlan", "-o", "parent=up0", "-o", "mode=private",
		"--subnet=172.31.14.0/24", "private")
	w.run("one", "private")
	w.run("two", "private")
	w.lost("one", w.attached("two", "private").IPAddress)
	w.docker("rm", "--force", "one", "two")

	t.Log("internal and isolated networks have no way out, and no interface beside their own")
	w.docker("network", "create", "-d", "graft", "--internal", "--subnet=172.31.11.0/24", "inside")
	w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/alone", "--subnet=172.31.12.0/24", "alone")
	for _, network := range []string{"inside", "alone"} {
		w.run("one", network)
		w.run("two", network)
		w.both("one", "two", network)
		if routes := w.in("one", "/bin/ip", "route"); strings.Contains(routes, "default") {
			t.Errorf("%s: want no default route, got %s", network, routes)
		}
		if links := w.in("one", "/bin/ip", "-o", "link"); strings.Count(links, "\n") != 1 {
			t.Errorf("%s has other interfaces: %s", network, links)
		}
		w.docker("rm", "--force", "one", "two")
	}
	if networks := w.docker("network", "ls", "--format={{.Name}}"); strings.Contains(networks, "docker_gwbridge") {
		t.Errorf("Docker created its own gateway network: %s", networks)
	}
}
