// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package spiderpool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// allocate binds all interfaces of a request, or none.
func (h *handler) allocate(ctx context.Context, q *allocateRequest) (any, error) {
	w, err := q.read(h.Policy())
	if err != nil {
		return nil, err
	}
	if h.Node != "" && q.Node != h.Node {
		return nil, api.Problemf(http.StatusMisdirectedRequest, "this server is for the node %s", h.Node)
	}
	if ctx.Err() != nil {
		return nil, &api.Problem{Status: http.StatusTooManyRequests, Message: "the deadline of the caller has passed", RetryAfter: time.Second}
	}
	held, err := h.bind(ctx, w)
	if err != nil {
		return nil, err
	}
	answer := allocateResponse{Name: q.Name, Namespace: q.Namespace, Node: q.Node}
	for _, item := range w.items {
		a, texts := held[slices.Index(w.nics, item.nic)], make([]string, len(item.addresses))
		for i, address := range item.addresses {
			if address.IsValid() {
				texts[i] = address.String()
			}
		}
		subnet, mac, vlan := item.subnet.String(), a.HardwareAddr().String(), int64(a.VLANID())
		if len(q.SubENIs) > 0 {
			answer.SubENIs = append(answer.SubENIs, subENIResult{item.nic.parent, subnet, texts[0], texts[1], mac, vlan})
		} else {
			answer.Items = append(answer.Items, itemResult{item.nic.parent, subnet, texts[0], mac, vlan})
		}
	}
	return answer, nil
}

// attempts limits how often interfaces are bound again because another request changed their allocations concurrently.
const attempts = 5

// bind allocates the interfaces that the policy permits. It first releases allocations of the Pod that differ from the
// request, for example in the IPv6 address. It starts again if an allocation that the policy accepted as held was
// released concurrently.
func (h *handler) bind(ctx context.Context, w *parsedRequest) ([]network.Allocation, error) {
	for range attempts {
		requests := make([]service.Request, len(w.nics))
		for i, n := range w.nics {
			var err error
			if requests[i], err = h.request(ctx, w.policy, w.pod, n); err != nil {
				return nil, err
			}
		}
		held, err := h.Service.AllocateAll(ctx, requests...)
		switch {
		case err == nil && slices.EqualFunc(requests, held, matches):
			return held, nil
		case errors.Is(err, network.ErrNotHeld):
			continue
		case err != nil && !errors.Is(err, network.ErrTaken):
			return nil, err
		}
		changed, problem := h.releaseDifferent(ctx, requests)
		if problem != nil {
			return nil, problem
		}
		if err != nil && !changed {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: other requests of the Pod release its addresses, or ask for others", network.ErrUnavailable)
}

// request returns the request to the service for one interface, if the policy permits it; the Pod keeps existing
// allocations. Spiderpool has selected the addresses, possibly from another owner, because it manages them.
func (h *handler) request(ctx context.Context, p *policy.Policy, of pod, n *nic) (service.Request, error) {
	subject := policy.Subject{
		Contract: Contract, Pool: n.pool.Name, Node: of.Node, Parent: n.parent, Addresses: n.addresses,
		Pod: &policy.Pod{UID: of.UID, Namespace: of.Namespace, Name: of.Name},
	}
	quotas, err := n.pool.Quotas(ctx, subject)
	if err != nil {
		return service.Request{}, fmt.Errorf("checking the quotas: %w", err)
	}
	r := service.Request{
		Owner: ownerOf(of, n.parent, n.addresses[0]), Pool: n.pool.Name, Addresses: n.addresses, Families: []int{}, Trunk: network.Trunk{Node: of.Node, MAC: n.parent},
		Holder: of.holder(n.parent), Quotas: quotas, Preempt: true,
	}
	denied := p.Permit(ctx, subject)
	if errors.Is(denied, policy.ErrDenied) {
		if a, err := h.Service.Get(ctx, r.Owner); err == nil && a.State == network.Bound && matches(r, a) {
			r.MustHold = true
			return r, nil
		}
	}
	return r, denied
}

// releaseDifferent releases allocations that differ from the requests, and reports whether there were any.
func (h *handler) releaseDifferent(ctx context.Context, requests []service.Request) (changed bool, err error) {
	for _, r := range requests {
		a, err := h.Service.Get(ctx, r.Owner)
		if errors.Is(err, network.ErrNotHeld) || err == nil && matches(r, a) {
			continue
		}
		if err == nil {
			err = h.Service.ReleaseSince(ctx, r.Owner, a.Since)
		}
		if err != nil {
			return changed, err
		}
		changed = true
	}
	return changed, nil
}

// matches reports whether an allocation matches the request.
func matches(r service.Request, a network.Allocation) bool {
	mine := slices.DeleteFunc(slices.Clone(a.Addresses), func(address netip.Addr) bool {
		chosen := slices.ContainsFunc(a.Binding.Addresses, func(of netip.Prefix) bool { return of.Addr() == address })
		return chosen && !slices.Contains(r.Addresses, address)
	})
	slices.SortFunc(mine, netip.Addr.Compare)
	asked := slices.SortedFunc(slices.Values(r.Addresses), netip.Addr.Compare)
	return a.Pool == r.Pool && slices.Equal(mine, asked)
}
