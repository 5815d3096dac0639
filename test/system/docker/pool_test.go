// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package docker_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// TestPools gives containers and DRANET's claims addresses of the same pools, from one ledger.
func TestPools(t *testing.T) {
	w := full(t)
	w.overlay("shared")
	claims := map[string]string{}
	const many = 8
	for i := range many {
		claims[fmt.Sprintf("claim-%d", i)] = ""
	}
	var group sync.WaitGroup
	for name := range claims {
		group.Go(func() { w.claim(name, "") })
	}
	for i := range many {
		group.Go(func() { w.run(fmt.Sprintf("c%d", i), "shared") })
	}
	group.Wait()
	w.unique()
	taken := map[string]string{}
	for _, one := range w.ledger("--pool=overlay") {
		for _, address := range one.Addresses {
			address, _, _ = strings.Cut(address, "/")
			taken[address] = one.Owner.Contract + "/" + one.Owner.Key
		}
	}
	for name := range claims {
		address, _, _ := strings.Cut(w.claim(name, ""), "/")
		if !strings.HasPrefix(taken[address], "dranet/") {
			t.Errorf("%s is held by %q", address, taken[address])
		}
		claims[name] = address
	}
	for i := range many {
		has := w.attached(fmt.Sprintf("c%d", i), "shared")
		for _, address := range []string{has.IPAddress, has.GlobalIPv6Address} {
			if !strings.HasPrefix(taken[address], "docker/") {
				t.Errorf("c%d has %s, which is held by %q", i, address, taken[address])
			}
		}
		if !strings.HasPrefix(has.MacAddress, "0a:58:") {
			t.Errorf("the pool's MAC addresses begin with 0a:58: %+v", has)
		}
	}
	w.both("c0", "c2", "shared")
	if link := w.link("c1", "eth0"); link.MTU != 1450 {
		t.Errorf("the pool's MTU is 1450: %+v", link)
	}

	t.Log("neither takes the other's")
	w.refused([]string{"in use"}, "run", "--rm", "--network=shared", "--ip="+claims["claim-1"], engine.Image, "/bin/true")
	if status, answer := w.ask("claim-9", w.attached("c1", "shared").IPAddress+"/24", "/GetProfileConfig"); status != http.StatusConflict {
		t.Errorf("a claim wants a container's address, and is answered %d %s", status, answer)
	}

	t.Log("what one gives back, the other can have")
	was := w.attached("c1", "shared").IPAddress
	w.docker("rm", "--force", "c1")
	if got := w.claim("claim-9", was+"/24"); got != was+"/24" {
		t.Errorf("the claim wants %s, and has %s", was, got)
	}
	claims["claim-9"] = was
	for name := range claims {
		if status, answer := w.ask(name, "", "/ReleaseProfileConfig"); status != http.StatusOK {
			t.Errorf("releasing %s: %d %s", name, status, answer)
		}
	}
	w.run("again", "shared", "--ip="+was)

	w.none()

	t.Log("a range, a gateway and what is kept for others are of the user's choice")
	w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/overlay", "--ipam-driver=graft",
		"--ipam-opt=profile=acme.com/overlay",
		"--subnet=10.64.0.0/24", "--ip-range=10.64.0.64/30", "--gateway=10.64.0.99", "--aux-address=printer=10.64.0.64",
		"narrow")
	for i := range 3 {
		w.run(fmt.Sprintf("n%d", i), "narrow")
		has := w.attached(fmt.Sprintf("n%d", i), "narrow")
		if address := netip.MustParseAddr(has.IPAddress); has.Gateway != "10.64.0.99" || has.IPAddress == "10.64.0.64" ||
			!netip.MustParsePrefix("10.64.0.64/30").Contains(address) {
			t.Errorf("a container of the range: %+v", has)
		}
	}
	w.both("n0", "n2", "narrow")
	w.reach("n1", "10.64.0.99")
	w.refused([]string{"10.64.0.64/30"}, "run", "--rm", "--network=narrow", engine.Image, "/bin/true")
	w.none()

	t.Log("nobody names a subnet: the profile's first pool that is free")
	w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/overlay", "--ipam-driver=graft",
		"--ipam-opt=profile=acme.com/overlay", "first")
	w.refused([]string{"overlay", "--subnet"}, "network", "create", "-d", "graft", "-o", "profile=acme.com/overlay",
		"--ipam-driver=graft", "--ipam-opt=profile=acme.com/overlay", "second")
	w.run("c6", "first")
	w.run("c7", "first")
	w.both("c6", "c7", "first")
	w.none()

	t.Log("networks of Docker's own driver take addresses of the pool, too, and keep them for as long as they have them")
	w.docker("network", "create", "-d", "bridge", "--ipam-driver=graft", "--ipam-opt=profile=acme.com/overlay",
		"--subnet=10.64.0.0/24", "mixed")
	w.run("c8", "mixed")
	w.run("c9", "mixed")
	w.both("c8", "c9", "mixed")
	kept := w.ledger()
	time.Sleep(leaksFor)
	if diff := cmp.Diff(kept, w.ledger()); diff != "" || len(kept) < 2 {
		t.Errorf("the ledger changed (-before +after):\n%s", diff)
	}
	w.none()

	t.Log("the endpoints themselves hold their addresses")
	w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/overlay", "--ipam-driver=null", "own")
	w.run("c4", "own")
	w.run("c5", "own")
	addresses := func() (all []string) {
		for _, one := range w.ledger("--owner=docker/endpoint/*") {
			all = append(all, one.Addresses...)
		}
		slices.Sort(all)
		return all
	}
	if all := addresses(); len(all) != 4 {
		t.Errorf("two endpoints hold %v", all)
	}
	w.both("c4", "c5", "own")
}

// overlay creates a network with addresses of the pool overlay. Docker permits --ip only with named subnets.
func (w *world) overlay(name string) {
	w.Helper()
	w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/overlay", "--ipv6", "--ipam-driver=graft",
		"--ipam-opt=profile=acme.com/overlay",
		"--subnet=10.64.0.0/24", "--subnet=fd00:64::/64", name)
}

// ask plays a call of DRANET for a claim, which may want an address.
func (w *world) ask(claim, address, call string) (status int, answer string) {
	w.Helper()
	wanted := ""
	if address != "" {
		wanted = `,"interface":{"addresses":["` + address + `"]}`
	}
	status, answer, err := w.machine.Ask(w.ctx, filepath.Join(w.machine.Folder, engine.DRANET), call,
		`{"device":{"name":"eth1","pci_address":"0000:27:00.2"},"claim_uid":"`+claim+`","config":{"profile":"acme.com/overlay"`+wanted+`}}`)
	if err != nil {
		w.Error(err)
	}
	return status, answer
}

// claim gives a claim an address, and says which it is: the first of those that it has.
func (w *world) claim(claim, address string) string {
	w.Helper()
	status, answer := w.ask(claim, address, "/GetProfileConfig")
	var config struct{ Interface struct{ Addresses []string } }
	if err := json.Unmarshal([]byte(answer), &config); err != nil || status != http.StatusOK ||
		len(config.Interface.Addresses) == 0 {
		w.Errorf("%s is answered %d %s", claim, status, answer)
		return ""
	}
	return config.Interface.Addresses[0]
}
