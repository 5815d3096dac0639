// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// race lets two Pods on two nodes request one address concurrently: the later one gets it, and the other one has no
// resource. If their order is unknown, both send a late release.
func (r *rack) race(at *place, delay time.Duration) {
	if at.nic != nil {
		at.nic.lost = true
		r.late = append(r.late, at.nic)
		at.nic = nil
	}
	clear(at.free)
	r.soon(takeoverSent, delay)
	var group sync.WaitGroup
	all := make([]*nic, 2)
	for i := range all {
		p := r.newPod()
		only := at.four
		p.Node, only.Parent = node(i), parent(i, 0)
		all[i] = &nic{pod: p, items: []item{only}}
		p.nics, p.Items = all[i:i+1], all[i].items
		group.Go(func() { r.compete(all[i]) })
	}
	group.Wait()
	winner := slices.IndexFunc(all, func(n *nic) bool { return r.fabric.holds(at.four.Address) == n.owner() })
	if slices.ContainsFunc(all, func(n *nic) bool { return !n.pod.sure }) {
		winner = -1
	} else if winner < 0 && !r.Killed.Load() {
		address, bound := at.four.Address, r.fabric.holds(at.four.Address)
		r.errorf("both %s and %s were given %s, and the cloud has bound it for %q", all[0].owner(), all[1].owner(), address,
			bound)
	}
	for i, n := range all {
		if i == winner {
			at.nic = n
			continue
		}
		n.lost = true
		r.late = append(r.late, n)
	}
}

// compete requests the address of a Pod that another Pod requests, too. The answer may be that the other one has it.
func (r *rack) compete(n *nic) {
	status, links, text := r.ask(n.pod)
	switch {
	case status == http.StatusOK:
		n.answer, n.pod.sure = links[0], true
	case status != 0 && status != http.StatusConflict && status != http.StatusServiceUnavailable && !r.Killed.Load():
		r.errorf("%s, which asked for %v, is answered %d %s", n.pod.UID, n.pod.Items, status, text)
	}
}
