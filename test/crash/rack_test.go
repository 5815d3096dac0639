// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// rack is a part of Spiderpool's addresses with sequential decisions. Nodes, interfaces and VLANs belong to all racks.
type rack struct {
	*story
	number int
	random *rand.Rand
	places []*place
	// late are interfaces that may be preempted, or with an unanswered release: some are still allocated.
	late []*nic
	pods int
}

// place is an address of IPv4 and one of IPv6.
type place struct {
	four, six item
	// nic was the last that asked; nil when it has been released.
	nic *nic
	// free are addresses that cannot have an owner.
	free map[string]bool
}

const (
	racks  = 6
	places = 8
)

// newRacks shares the addresses out.
func newRacks(s *story) []*rack {
	s.pods = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", podSocket(s.NetworkProvider))
		},
	}}
	all := make([]*rack, racks)
	for i := range all {
		r := &rack{story: s, number: i, random: rand.New(rand.NewPCG(s.random.Uint64(), uint64(i)))}
		for j := range places {
			p := &place{four: four(i*places + j + 1), six: six(i*places + j + 1), free: map[string]bool{}}
			p.free[p.four.Address], p.free[p.six.Address] = true, true
			r.places = append(r.places, p)
		}
		all[i] = r
	}
	return all
}

func four(i int) item { return item{Address: fmt.Sprintf("10.3.0.%d", i), Subnet: "10.3.0.0/16"} }
func six(i int) item  { return item{Address: fmt.Sprintf("fd00:3::%x", i), Subnet: "fd00:3::/64"} }

// node is the name of one of two.
func node(i int) string { return fmt.Sprintf("worker-%d", i) }

// parent is the MAC address of one of the two interfaces of a node.
func parent(node, i int) string { return fmt.Sprintf("fa:16:3e:00:0%d:0%d", node, i) }

// work makes a few steps, until the program is killed.
func (r *rack) work(delay time.Duration) {
	for range 4 {
		if r.Killed.Load() {
			return
		}
		switch p := r.places[r.random.IntN(len(r.places))]; {
		case r.random.IntN(4) == 0 && len(r.late) > 0:
			r.comeLate(delay)
		case p.nic != nil && p.nic.pod.whole() && (!p.nic.pod.sure || r.random.IntN(4) == 0):
			r.retry(p.nic.pod, delay)
		case p.nic != nil && r.random.IntN(2) == 0:
			r.release(p, delay)
		case r.random.IntN(6) == 0:
			r.refused(delay)
		case r.random.IntN(6) == 1:
			r.race(p, delay)
		default:
			r.start(r.newPod(), delay)
		}
	}
}

// newPod returns a Pod with one to three interfaces, each with one or two addresses, which may belong to other Pods.
func (r *rack) newPod() *pod {
	r.pods++
	on := r.random.IntN(2)
	p := &pod{UID: fmt.Sprintf("pod-%d-%d", r.number, r.pods), Namespace: "shop", Node: node(on)}
	p.Name = p.UID
	// Items of both families on one parent would be paired: a Pod has either one family or both.
	families := r.random.IntN(4)
	for _, i := range r.random.Perm(len(r.places))[:1+r.random.IntN(3)] {
		at := r.places[i]
		n := &nic{pod: p}
		if families != 1 {
			n.items = append(n.items, at.four)
		}
		if families > 0 {
			n.items = append(n.items, at.six)
		}
		of := parent(on, r.random.IntN(2))
		for j := range n.items {
			n.items[j].Parent = of
		}
		p.nics, p.Items = append(p.nics, n), append(p.Items, n.items...)
	}
	return p
}

// start allocates the interfaces of a Pod, and sometimes releases those of the previous owners at the same time.
func (r *rack) start(p *pod, delay time.Duration) {
	var old []*nic
	for _, n := range p.nics {
		at := r.placeOf(n)
		if at.nic != nil {
			at.nic.lost = true
			old, r.late = append(old, at.nic), append(r.late, at.nic)
		}
		at.nic = n
		clear(at.free)
	}
	var group sync.WaitGroup
	if len(old) > 0 {
		r.soon(takeoverSent, delay)
		if r.random.IntN(2) == 0 {
			group.Go(func() { r.giveBack(old[0], 0) })
		}
	}
	r.retry(p, delay)
	group.Wait()
}

// retry sends the request of a Pod, perhaps again: then the answer is the same.
func (r *rack) retry(p *pod, delay time.Duration) {
	r.soon(podSent, delay)
	begun := time.Now()
	status, links, text := r.ask(p)
	if status != http.StatusOK {
		if status != 0 && !r.Killed.Load() {
			r.errorf("%s, which asked for %v, is answered %d %s", p.UID, p.Items, status, text)
		}
		return
	}
	if len(p.nics) > 1 {
		r.took.Store(int64(time.Since(begun)))
	}
	for _, n := range p.nics {
		for range n.items {
			switch {
			case p.sure && n.answer != links[0]:
				r.errorf("%s was answered %v for %s, and then %v", p.UID, n.answer, n.items[0].Address, links[0])
			case !p.sure && n.answer != (link{}) && n.answer != links[0]:
				r.errorf("%s is answered two links for one interface: %v", p.UID, links)
			}
			n.answer, links = links[0], links[1:]
		}
	}
	p.sure = true
	r.reach(podAnswered)
}

// release lets the Pod at a place release its address.
func (r *rack) release(at *place, delay time.Duration) {
	n := at.nic
	n.lost, at.nic = true, nil
	r.soon(podReleaseSent, delay)
	if !r.giveBack(n, r.random.IntN(2)) {
		r.late = append(r.late, n)
		return
	}
	// Otherwise it may never have got the address, and one before it may have it still.
	if n.pod.sure {
		for _, i := range n.items {
			at.free[i.Address] = true
		}
	}
}

// refused requests a place together with an address that the cloud rejects: no resource of the request may stay.
func (r *rack) refused(delay time.Duration) {
	p := r.newPod()
	if only := p.nics[0].items; len(only) > 1 || only[0].Subnet != r.places[0].four.Subnet {
		return // the item more is of IPv4
	}
	first := p.Items[0]
	refused := item{Address: locked + strconv.Itoa(r.number), Subnet: first.Subnet, Parent: first.Parent}
	bad := &nic{pod: p, items: []item{refused}}
	for _, n := range p.nics {
		if at := r.placeOf(n); at.nic != nil {
			return
		}
	}
	p.Items = append(p.Items, bad.items...)
	for _, n := range p.nics {
		clear(r.placeOf(n).free)
	}
	r.soon(podSent, delay)
	status, _, text := r.ask(p)
	if status != http.StatusUnprocessableEntity {
		if status != 0 && !r.Killed.Load() {
			r.errorf("%s asked for an address that the cloud refuses, and is answered %d %s", p.UID, status, text)
		}
		r.late = append(append(r.late, p.nics...), bad)
		return
	}
	for _, n := range p.nics {
		for _, i := range n.items {
			r.placeOf(n).free[i.Address] = true
		}
	}
}

// comeLate sends a release for addresses that may have new owners: it must not affect them.
func (r *rack) comeLate(delay time.Duration) {
	n := r.late[0]
	r.soon(lateReleaseSent, delay)
	if r.giveBack(n, r.random.IntN(2)) {
		r.late = r.late[1:]
	}
}

func (r *rack) placeOf(n *nic) *place {
	for _, at := range r.places {
		if n.items[0].Address == at.four.Address || n.items[0].Address == at.six.Address {
			return at
		}
	}
	return nil
}
