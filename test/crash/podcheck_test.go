// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// checkPods checks every address: an answered owner that lost nothing has exactly its addresses, and a free address has
// no owner.
func (s *story) checkPods() {
	vlans := map[string]string{}
	for _, r := range s.racks {
		for _, at := range r.places {
			for address := range at.free {
				status, text := s.call(http.MethodGet, "status/ips-cache/"+address, nil)
				if status != http.StatusNotFound && status != 0 {
					s.errorf("nobody holds %s, and its status is %d %s", address, status, strings.TrimSpace(text))
				}
			}
			if n := at.nic; n != nil && n.pod.sure {
				s.checkNIC(n)
				of := fmt.Sprintf("%s/%s/%d", n.pod.Node, n.items[0].Parent, n.answer.VLAN)
				if other := vlans[of]; other != "" {
					s.errorf("the VLAN %s is that of %s and of %s", of, other, n.owner())
				}
				vlans[of] = n.owner()
			}
			if s.Killed.Load() {
				return
			}
		}
	}
	s.checkRequests()
}

// checkRequests checks Pods that requested several interfaces without an answer when the program was killed. They have
// all of them or none, in the ledger and in the cloud.
func (s *story) checkRequests() {
	seen := map[*pod]bool{}
	for _, r := range s.racks {
		for _, at := range r.places {
			if n := at.nic; n != nil && !n.pod.sure && n.pod.whole() && !seen[n.pod] {
				seen[n.pod] = true
				s.checkRequest(n.pod)
			}
		}
	}
}

// checkRequest waits until the undoing of a Pod's request is complete.
func (s *story) checkRequest(p *pod) {
	held := func() (count int, settled bool, which string) {
		settled = true
		for _, n := range p.nics {
			status, text := s.call(http.MethodGet, "status/ips-cache/"+n.items[0].Address, nil)
			bound := s.fabric.holds(n.items[0].Address) == n.owner()
			switch {
			case status == http.StatusOK && bound:
				count++
			case bound: // and not undone yet
				settled = false
			}
			text = strings.TrimSpace(text)
			which += fmt.Sprintf("%s: bound in the cloud %v, its status is %d %s\n", n.owner(), bound, status, text)
		}
		return count, settled, which
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		count, settled, which := held()
		if s.Killed.Load() {
			return
		}
		if settled && (count == 0 || count == len(p.nics)) {
			if len(p.nics) > 1 {
				s.requests[count/len(p.nics)]++
			}
			return
		}
		if time.Now().After(deadline) {
			s.errorf("%s has a part of what it asked for in one request:\n%s", p.UID, which)
			return
		}
	}
}

// checkNIC looks at an interface in the ledger and in the cloud.
func (s *story) checkNIC(n *nic) {
	for _, i := range n.items {
		status, text := s.call(http.MethodGet, "status/ips-cache/"+i.Address, nil)
		if status == 0 {
			return
		}
		var answer struct {
			Entry struct {
				Node   string `json:"nodeName"`
				Parent string `json:"parentNicMac"`
				MAC    string `json:"mac"`
				VLAN   int    `json:"vlanID"`
			}
		}
		_ = json.Unmarshal([]byte(text), &answer)
		e := answer.Entry
		right := e.Node == n.pod.Node && e.Parent == i.Parent && link{e.MAC, e.VLAN} == n.answer
		if status != http.StatusOK || !right {
			text = strings.TrimSpace(text)
			s.errorf("%s held %s with %v, and its status is %d %s", n.owner(), i.Address, n.answer, status, text)
		}
		if by := s.fabric.holds(i.Address); by != n.owner() {
			s.errorf("%s holds %s, and the cloud has bound it for %q", n.owner(), i.Address, by)
		}
	}
}

// reload rewrites the profile, and kills the program about when it reads that: it looks each second.
func (s *story) reload(begun time.Time) {
	s.reloads++
	describe(s.NetworkProvider, s.fabric, s.reloads%50)
	until := begun.Add(time.Second + time.Duration(s.random.IntN(100))*time.Millisecond)
	time.AfterFunc(time.Until(until), s.Kill)
	for !s.Killed.Load() && len(s.found()) == 0 {
		s.work(0)
	}
}
