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
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

var _ = Describe("a pool", func() {
	scenario("gives addresses to containers and to claims of DRANET, each to one owner", func(w *world) {
		w.begin()
		w.overlay("shared")
		const many = 8
		var group sync.WaitGroup
		for i := range many {
			group.Go(func() { w.claim(fmt.Sprintf("claim-%d", i), "") })
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
		claims := map[string]string{}
		for i := range many {
			name := fmt.Sprintf("claim-%d", i)
			address, _, _ := strings.Cut(w.claim(name, ""), "/")
			w.Expect(taken).To(HaveKeyWithValue(address, HavePrefix("dranet/")), "the owner of the address of %s", name)
			claims[name] = address
		}
		for i := range many {
			has := w.attached(fmt.Sprintf("c%d", i), "shared")
			for _, address := range []string{has.IPAddress, has.GlobalIPv6Address} {
				w.Expect(taken).To(HaveKeyWithValue(address, HavePrefix("docker/")), "the owner of the address of c%d", i)
			}
			w.Expect(has.MacAddress).To(HavePrefix("0a:58:"), "a MAC address of the pool")
		}
		w.both("c0", "c2", "shared")
		w.Expect(w.link("c1", "eth0").MTU).To(Equal(1450), "the MTU, which the pool sets")

		// neither takes an address of the other
		w.refused([]string{"in use"}, "run", "--rm", "--network=shared", "--ip="+claims["claim-1"], engine.Image,
			"/bin/true")
		was := w.attached("c1", "shared").IPAddress
		status, answer := w.ask("claim-9", was+"/24", "/GetProfileConfig")
		w.Expect(status).To(Equal(http.StatusConflict), "status for the address of a container; the answer is %s", answer)

		// one gets an address that the other has released
		w.docker("rm", "--force", "c1")
		w.Expect(w.claim("claim-9", was+"/24")).To(Equal(was+"/24"), "the address that the claim wants")
		claims["claim-9"] = was
		for name := range claims {
			status, answer := w.ask(name, "", "/ReleaseProfileConfig")
			w.Expect(status).To(Equal(http.StatusOK), "status of the release of %s; the answer is %s", name, answer)
		}
		w.run("again", "shared", "--ip="+was)
	})

	scenario("serves networks with a range, without a subnet, of Docker's own driver, and of endpoints", func(
		w *world,
	) {
		w.begin()
		profile := []string{
			"network", "create", "-d", "graft", "-o", "profile=acme.com/overlay", "--ipam-driver=graft",
			"--ipam-opt=profile=acme.com/overlay",
		}

		// a range, a gateway and an auxiliary address
		w.docker(append(profile, "--subnet=10.64.0.0/24", "--ip-range=10.64.0.64/30", "--gateway=10.64.0.99",
			"--aux-address=printer=10.64.0.64", "narrow")...)
		for i := range 3 {
			w.run(fmt.Sprintf("n%d", i), "narrow")
			has := w.attached(fmt.Sprintf("n%d", i), "narrow")
			w.Expect(has.Gateway).To(Equal("10.64.0.99"), "the gateway")
			w.Expect(has.IPAddress).NotTo(Equal("10.64.0.64"), "the address of the printer")
			w.Expect(netip.MustParsePrefix("10.64.0.64/30").Contains(netip.MustParseAddr(has.IPAddress))).To(BeTrue(),
				"%s is in the range", has.IPAddress)
		}
		w.both("n0", "n2", "narrow")
		w.reach("n1", "10.64.0.99")
		w.refused([]string{"10.64.0.64/30"}, "run", "--rm", "--network=narrow", engine.Image, "/bin/true")
		w.none()

		// without a subnet: the first free pool of the profile
		w.docker(append(profile, "first")...)
		w.refused([]string{"overlay", "--subnet"}, append(profile, "second")...)
		w.run("c6", "first")
		w.run("c7", "first")
		w.both("c6", "c7", "first")
		w.none()

		// Docker's own driver keeps its addresses beyond the time after which leaks are released
		w.docker("network", "create", "-d", "bridge", "--ipam-driver=graft", "--ipam-opt=profile=acme.com/overlay",
			"--subnet=10.64.0.0/24", "mixed")
		w.run("c8", "mixed")
		w.run("c9", "mixed")
		w.both("c8", "c9", "mixed")
		kept := w.ledger()
		w.Expect(len(kept)).To(BeNumerically(">=", 2), "allocations")
		time.Sleep(leaksFor)
		w.Expect(w.ledger()).To(Equal(kept), "allocations after the sweeps")
		w.none()
	})
})

// overlay creates a network with addresses of the pool overlay. Docker permits --ip only with named subnets.
func (w *world) overlay(name string) {
	w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/overlay", "--ipv6", "--ipam-driver=graft",
		"--ipam-opt=profile=acme.com/overlay", "--subnet=10.64.0.0/24", "--subnet=fd00:64::/64", name)
}

// ask makes a call of DRANET for a claim, which may want an address.
func (w *world) ask(claim, address, call string) (status int, answer string) {
	wanted := ""
	if address != "" {
		wanted = `,"interface":{"addresses":["` + address + `"]}`
	}
	status, answer, err := w.machine.Ask(w.ctx, filepath.Join(w.machine.Folder, engine.DRANET), call,
		`{"device":{"name":"eth1","pci_address":"0000:27:00.2"},"claim_uid":"`+claim+
			`","config":{"profile":"acme.com/overlay"`+wanted+`}}`)
	w.Expect(err).NotTo(HaveOccurred(), "calling %s for %s", call, claim)
	return status, answer
}

// claim allocates an address for a claim, and returns it, or the first of those that the claim has.
func (w *world) claim(claim, address string) string {
	status, answer := w.ask(claim, address, "/GetProfileConfig")
	w.Expect(status).To(Equal(http.StatusOK), "status for %s; the answer is %s", claim, answer)
	var config struct{ Interface struct{ Addresses []string } }
	w.Expect(json.Unmarshal([]byte(answer), &config)).To(Succeed(), "decoding %s", answer)
	w.Expect(config.Interface.Addresses).NotTo(BeEmpty(), "addresses of %s; the answer is %s", claim, answer)
	return config.Interface.Addresses[0]
}
