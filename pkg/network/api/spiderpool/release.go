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
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
)

// lookupTime limits the search for the owner of a released address. It continues after the caller has disconnected,
// so that the release is not lost.
const lookupTime = 10 * time.Second

// release releases the whole interface with an address if the request comes from its holder. It succeeds for every
// valid request, because callers repeat a release, release unbound addresses, and release late.
//
// The response is a success once the ledger has recorded the release; the cloud is called in the background.
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
		h.Log.V(1).Info("A release of Spiderpool finds no allocation of its Pod", "address", what.address, "subnet", what.subnet,
			"namespace", what.Namespace, "pod", what.Name, "reason", reason)
	}
	if owner == (network.Owner{}) {
		return nil, nil
	}
	return nil, h.Service.Release(ctx, owner)
}

// released holds the names in a release.
type released struct {
	pod
	parent  string
	subnet  netip.Prefix
	address netip.Addr
}

func (q *releaseRequest) read() (*released, error) {
	var f api.Faults
	what := &released{pod: pod{q.Name, q.Namespace, q.UID, q.Node}}
	what.checkReleased(&f)
	var err error
	what.address, err = parseAddress(q.Address)
	f.Add("ipAddress", err)
	what.subnet, err = parseSubnet(q.Subnet)
	f.Add("subnet", err)
	what.parent, err = parseMAC(q.Parent, true)
	f.Add("parentNicMac", err)
	return what, f.Problem()
}

// find returns the owner for a release: the holder of the address if it matches the request. Otherwise it returns the
// reason, and the owner that the request names: a concurrent request may be allocating for that owner, and the service
// waits for it. It also works after the caller has disconnected, because the release is not repeated.
func (h *handler) find(ctx context.Context, what *released) (owner network.Owner, reason string, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
	defer cancel()
	reason = "no pool has the subnet"
	if pool := h.Policy().PoolOf(what.subnet); pool != nil {
		held, err := h.Service.ByAddress(ctx, pool.Name, what.address)
		switch {
		case errors.Is(err, network.ErrNotHeld):
			reason = "the address has no owner"
		case err != nil:
			return network.Owner{}, "", err
		case held.Owner.Contract != Contract:
			reason = "the address is held under the contract " + held.Owner.Contract
		case !what.matches(held):
			reason = "the address is held by " + held.Holder.String()
		default:
			return held.Owner, "", nil
		}
	}
	if elsewhere, err := h.inRemovedPool(ctx, what); err != nil || elsewhere != (network.Owner{}) {
		return elsewhere, "", err
	}
	if what.parent != "" && what.Node != "" {
		owner = ownerOf(what.pod, what.parent, what.address)
	}
	return owner, reason, nil
}

// inRemovedPool returns the Pod's own allocation of the address in a pool that was removed from the profile, or lost this
// subnet.
func (h *handler) inRemovedPool(ctx context.Context, what *released) (network.Owner, error) {
	if what.UID == "" && what.Name == "" {
		return network.Owner{}, nil
	}
	all, err := h.Service.Owned(ctx, network.Owner{Contract: Contract, Key: what.keyPrefix()})
	for _, a := range all {
		if slices.Contains(a.Addresses, what.address) && what.matches(a) {
			return a.Owner, nil
		}
	}
	return network.Owner{}, err
}

// matches reports whether a release comes from the holder. Spiderpool may assign an address to another Pod before the old
// one's release arrives; then the new one must keep it. The first matching line decides; missing fields are not
// compared:
//
//	both have a podUID                   they must be equal
//	both have podNamespace and podName   they must be equal, and so must nodeName and parentNicMac
//	the holder has neither               nodeName and parentNicMac must be equal
//	otherwise                            the release does not match
//
// A node alone identifies only a holder without further data: any Pod of the node could be meant.
func (r *released) matches(a network.Allocation) bool {
	uid, holder := uidOf(a.Owner), a.Holder
	sameNIC := equalOrMissing(r.Node, holder.Node) && equalOrMissing(r.parent, holder.Device)
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

// equalOrMissing reports whether two values are equal or one is missing.
func equalOrMissing(a, b string) bool { return a == "" || b == "" || a == b }
