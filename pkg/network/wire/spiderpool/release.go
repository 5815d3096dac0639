// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package spiderpool

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// lookupTime bounds how long it is looked for who holds an address that is released, also when the caller has gone.
const lookupTime = 10 * time.Second

// release takes back the whole interface that an address belongs to, if the request is its holder's. It succeeds whenever it can be read, since
// callers repeat a release, release what was never bound, and release late: what has no effect is no error.
//
// The answer is a success when the ledger remembers the release; the cloud is told in the background.
func (h *handler) release(ctx context.Context, q *releaseRequest) (any, error) {
	what, err := q.read()
	if err != nil {
		return nil, err
	}
	owner, reason, err := h.find(ctx, what)
	if err != nil {
		return nil, err
	}
	if reason != "" {
		h.Log.V(1).Info("A release of Spiderpool finds nothing of its Pod", "address", what.address, "subnet", what.subnet,
			"namespace", what.Namespace, "pod", what.Name, "reason", reason)
	}
	if owner == (network.Owner{}) {
		return nil, nil
	}
	return nil, h.Service.Release(ctx, owner)
}

// released is what a release names.
type released struct {
	pod
	parent  string
	subnet  netip.Prefix
	address netip.Addr
}

func (q *releaseRequest) read() (*released, error) {
	var f faults
	what := &released{pod: pod{q.Name, q.Namespace, q.UID, q.Node}}
	what.checkReleased(&f)
	var err error
	what.address, err = parseAddress(q.Address)
	f.note("ipAddress", err)
	what.subnet, err = parseSubnet(q.Subnet)
	f.note("subnet", err)
	what.parent, err = parseMAC(q.Parent, true)
	f.note("parentNicMac", err)
	return what, f.problem()
}

// find says whose release it is: that of the holder, if it is the same. Otherwise it says why it is not, and whom the request names, who may be
// about to get the address: the service waits for that. It looks also when the caller has gone: nobody else would repeat the release.
func (h *handler) find(ctx context.Context, what *released) (owner network.Owner, reason string, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
	defer cancel()
	if owner, reason, err = h.holder(ctx, what); reason == "" {
		return owner, "", err
	}
	if elsewhere, err := h.elsewhere(ctx, what); err != nil || elsewhere != (network.Owner{}) {
		return elsewhere, "", err
	}
	if what.parent != "" && what.Node != "" {
		owner = ownerOf(what.pod, what.parent, what.address)
	}
	return owner, reason, nil
}

// holder is the one at the address, or why it is not meant.
func (h *handler) holder(ctx context.Context, what *released) (owner network.Owner, reason string, err error) {
	pool := h.Policy().PoolOf(what.subnet)
	if pool == nil {
		return network.Owner{}, "no pool has the subnet", nil
	}
	held, err := h.Service.At(ctx, pool.Name, what.address)
	switch {
	case errors.Is(err, network.ErrNotHeld):
		return network.Owner{}, "the address has no owner", nil
	case err != nil:
		return network.Owner{}, "", err
	case held.Owner.Contract != Contract:
		return network.Owner{}, "the address is held under the contract " + held.Owner.Contract, nil
	case !what.by(held):
		return network.Owner{}, "the address is held by " + held.Holder.String(), nil
	}
	return held.Owner, "", nil
}

// elsewhere is the Pod's own allocation of the address in a pool that the profile does not have any more, or not with this subnet.
func (h *handler) elsewhere(ctx context.Context, what *released) (network.Owner, error) {
	if what.UID == "" && what.Name == "" {
		return network.Owner{}, nil
	}
	all, err := h.Service.Owned(ctx, network.Owner{Contract: Contract, Key: what.who()})
	for _, a := range all {
		if slices.Contains(a.Addresses, what.address) && what.by(a) {
			return a.Owner, nil
		}
	}
	return network.Owner{}, err
}

// by says whether a release is the holder's. Spiderpool gives an address to another Pod before the old one's release arrives, and that must not
// take it from the new one. The first line that applies decides; what a side leaves out is not compared:
//
//	both have a podUID                   they must be the same
//	both have podNamespace and podName   they must be the same, and so must nodeName and parentNicMac
//	the holder has neither               nodeName and parentNicMac must be the same
//	otherwise                            it is not
//
// A node that is alone identifies only a holder of which nothing else is known either: any Pod of the node could be meant.
func (r *released) by(a network.Allocation) bool {
	uid, holder := uidOf(a.Owner), a.Holder
	sameNIC := same(r.Node, holder.Node) && same(r.parent, holder.Device)
	switch {
	case r.UID != "" && uid != "":
		return r.UID == uid
	case r.Name != "" && holder.Name != "":
		return r.Namespace == holder.Namespace && r.Name == holder.Name && sameNIC
	case uid == "" && holder.Name == "":
		return sameNIC
	default:
		return false
	}
}

// same compares what both sides say.
func same(a, b string) bool { return a == "" || b == "" || a == b }
