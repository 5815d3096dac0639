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
	p := h.Policy()
	w, err := q.read(p)
	if err != nil {
		return nil, err
	}
	if h.Node != "" && q.Node != h.Node {
		return nil, api.Problemf(http.StatusMisdirectedRequest, "this server is for the node %s", h.Node)
	}
	if ctx.Err() != nil {
		return nil, &api.Problem{Status: http.StatusTooManyRequests, Message: "the deadline of the caller has passed", RetryAfter: time.Second}
	}
	held, err := h.decideAndBind(ctx, p, w)
	if err != nil {
		return nil, err
	}
	byNIC := map[*nic]network.Allocation{}
	for i, n := range w.nics {
		byNIC[n] = held[i]
	}
	answer := allocateResponse{Name: q.Name, Namespace: q.Namespace, Node: q.Node}
	for i, n := range w.of {
		answer.add(w, i, n.parent, byNIC[n], len(q.SubENIs) > 0)
	}
	return answer, nil
}

// decideAndBind evaluates the policy and binds. It starts again if an allocation that the policy accepted as held was
// released concurrently.
func (h *handler) decideAndBind(ctx context.Context, p *policy.Policy, w *parsedRequest) (held []network.Allocation, err error) {
	for range attempts {
		requests := make([]service.Request, len(w.nics))
		for i, n := range w.nics {
			if requests[i], err = h.request(ctx, p, w.pod, n); err != nil {
				return nil, err
			}
		}
		if held, err = h.bind(ctx, requests); !errors.Is(err, network.ErrNotHeld) {
			return held, err
		}
	}
	return nil, fmt.Errorf("%w: other requests release it", network.ErrUnavailable)
}

// add adds the result of one item to the response.
func (r *allocateResponse) add(w *parsedRequest, i int, parent string, a network.Allocation, subENIs bool) {
	subnet, mac, vlan := w.subnets[i].String(), a.HardwareAddr().String(), int64(a.VLANID())
	if !subENIs {
		r.Items = append(r.Items, itemResult{Parent: parent, Subnet: subnet, Address: w.addresses[i][0].String(), MAC: mac, VLAN: vlan})
		return
	}
	result := subENIResult{Parent: parent, Subnet: subnet, MAC: mac, VLAN: vlan}
	if address := w.addresses[i][0]; address.IsValid() {
		result.Address4 = address.String()
	}
	if address := w.addresses[i][1]; address.IsValid() {
		result.Address6 = address.String()
	}
	r.SubENIs = append(r.SubENIs, result)
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
		Owner: n.owner(of), Pool: n.pool.Name, Addresses: n.addresses, Families: []int{}, Trunk: network.Trunk{Node: of.Node, MAC: n.parent},
		Holder: of.holder(n.parent), Quotas: quotas, Preempt: true,
	}
	denial, err := p.Deny(ctx, subject)
	if err != nil {
		return r, fmt.Errorf("checking the deny rules: %w", err)
	}
	if denial == nil {
		return r, nil
	}
	if a, err := h.Service.Get(ctx, r.Owner); err == nil && a.State == network.Bound && matches(r, a) {
		r.MustHold = true
		return r, nil
	}
	return r, api.Problemf(denial.Code, "%s", denial.Message)
}

// attempts limits how often interfaces are bound again because another request changed their addresses concurrently.
const attempts = 3

// bind allocates. It first releases allocations of the Pod that differ from the request, for example in the IPv6
// address.
func (h *handler) bind(ctx context.Context, requests []service.Request) ([]network.Allocation, error) {
	for range attempts {
		held, err := h.Service.AllocateAll(ctx, requests...)
		if err == nil && allMatch(requests, held) {
			return held, nil
		}
		if err != nil && !errors.Is(err, network.ErrTaken) {
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
	return nil, fmt.Errorf("%w: other requests of the Pod ask for other addresses", network.ErrUnavailable)
}

func allMatch(requests []service.Request, held []network.Allocation) bool {
	for i, a := range held {
		if !matches(requests[i], a) {
			return false
		}
	}
	return true
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
