// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// wait limits each wait at the end.
const wait = 30 * time.Second

// end releases everything: then the cloud has nothing, the ledger is sound, and all addresses can be had again.
func (s *story) end() {
	GinkgoHelper()
	s.at.Store(point(""))
	s.Start()
	if !s.Ready() {
		return
	}
	s.check()
	s.checkPods()
	s.leave()
	for _, o := range s.owners {
		if o.profile == "lan" { // late work of a plugin becomes known when its owner sends a request
			s.post("/GetProfileConfig", o, o.config())
		}
		if status, answer := s.post("/ReleaseProfileConfig", o, o.config()); status != 200 {
			s.errorf("the release of %s is answered %d %s", o.uid, status, answer)
		}
	}
	Eventually(s.fabric.size).WithTimeout(wait).Should(BeZero(), "addresses that are bound in the cloud")
	for profile, size := range map[string]int{"fabric": 24, "plain": 24, "lan": 12} {
		s.fill(profile, size)
	}
	s.fillLinks()
	s.Kill()
	s.WaitExit()
	verify := exec.CommandContext(s.ctx, "../../bin/graft", "ledger", "verify", filepath.Join(s.Folder, "ledger"))
	output, err := verify.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "graft ledger verify printed:\n%s", output)
}

// fill takes every address of a pool.
func (s *story) fill(profile string, size int) {
	seen := map[string]bool{}
	for deadline := time.Now().Add(wait); len(seen) < size && time.Now().Before(deadline); {
		o := owner{uid: fmt.Sprintf("last-%s-%d", profile, len(seen)), device: "eth1", profile: profile}
		status, answer := s.post("/GetProfileConfig", &o, o.config())
		if status != 200 {
			// Recently released addresses are in quarantine.
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if address := addressOf(answer); seen[address] {
			s.errorf("%s was given twice", address)
		} else {
			seen[address] = true
		}
	}
	if len(seen) < size {
		s.errorf("%d addresses of %s can be had, want %d: some are lost", len(seen), profile, size)
	}
}

// leave lets all Pods release all addresses.
func (s *story) leave() {
	for _, r := range s.racks {
		for _, at := range r.places {
			if at.nic != nil {
				r.late = append(r.late, at.nic)
				at.nic = nil
			}
		}
		for i, n := range r.late {
			s.giveBack(n, i)
		}
		r.late = nil
	}
}

// vlans is how many the pool has for each interface of a node.
const vlans = 128

// fillLinks takes all addresses of IPv4, and all VLANs of every interface of the nodes in turn.
func (s *story) fillLinks() {
	GinkgoHelper()
	for i := range 4 {
		var pods []*pod
		for j := range vlans {
			one := six(j + 1)
			if j < racks*places {
				one = four(j + 1)
			}
			one.Parent = parent(i/2, i%2)
			p := &pod{UID: fmt.Sprintf("last-%d-%d", i, j), Namespace: "shop", Node: node(i / 2), Items: []item{one}}
			p.nics = []*nic{{pod: p, items: p.Items}}
			pods = append(pods, p)
		}
		s.fillTrunk(pods)
		for _, p := range pods {
			s.giveBack(p.nics[0], 0)
		}
	}
	if s.fabric.wrong() == "" {
		Eventually(s.fabric.size).WithTimeout(wait).Should(BeNumerically("<=", 24), "addresses that are bound in the cloud")
	}
}

// fillTrunk lets Pods use all VLANs of an interface.
func (s *story) fillTrunk(pods []*pod) {
	seen := map[int]string{}
	deadline := time.Now().Add(wait)
	for _, p := range pods {
		status, links, text := s.ask(p)
		for ; status == http.StatusServiceUnavailable && time.Now().Before(deadline); status, links, text = s.ask(p) {
			// Recently released addresses are in quarantine.
			time.Sleep(20 * time.Millisecond)
		}
		if status != http.StatusOK {
			s.errorf("with %d VLANs of %d taken, %s is answered %d %s", len(seen), vlans, p.UID, status, text)
			return
		}
		if other := seen[links[0].VLAN]; other != "" {
			s.errorf("the VLAN %d was given to %s and to %s", links[0].VLAN, other, p.UID)
		}
		seen[links[0].VLAN] = p.UID
	}
}
