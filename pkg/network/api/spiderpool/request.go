// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package spiderpool

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// nic is one interface of a Pod: one allocation with one MAC address, one VLAN and any number of families.
type nic struct {
	parent string
	pool   *policy.Pool
	// addresses are one or two, IPv4 first.
	addresses []netip.Addr
}

// owner returns the owner of an interface. A Pod that asks again for the same address on the same interface of the node
// is the same owner, so that a release can name it; the other family is not part of the name.
func (n *nic) owner(p pod) network.Owner { return ownerOf(p, n.parent, n.addresses[0]) }

func ownerOf(p pod, parent string, address netip.Addr) network.Owner {
	return network.Owner{Contract: Contract, Key: p.keyPrefix() + p.Node + "/" + parent + "/" + address.String()}
}

// keyPrefix returns the prefix of the keys of all allocations of a Pod.
func (p pod) keyPrefix() string {
	switch {
	case p.UID != "":
		return "uid/" + url.PathEscape(p.UID) + "/"
	case p.Name != "":
		return "pod/" + url.PathEscape(p.Namespace) + "/" + url.PathEscape(p.Name) + "/"
	default:
		return "node/"
	}
}

// uidOf returns the UID of an owner's Pod, or an empty string if the Pod has sent none.
func uidOf(owner network.Owner) string {
	rest, ok := strings.CutPrefix(owner.Key, "uid/")
	if !ok {
		return ""
	}
	escaped, _, _ := strings.Cut(rest, "/")
	uid, err := url.PathUnescape(escaped)
	if err != nil {
		return escaped
	}
	return uid
}

// parsedRequest is a request that has been read.
type parsedRequest struct {
	pod  pod
	nics []*nic
	// of is the interface of each item.
	of []*nic
	// addresses and subnets are the items' addresses and subnets in canonical form.
	addresses [][]netip.Addr
	subnets   []netip.Prefix
}

// add keeps an item.
func (w *parsedRequest) add(n *nic, subnet netip.Prefix, addresses ...netip.Addr) {
	w.of = append(w.of, n)
	w.subnets = append(w.subnets, subnet)
	w.addresses = append(w.addresses, addresses)
}

// read parses a request of either shape. The error names all mistakes except unknown subnets, which are found later.
func (q *allocateRequest) read(p *policy.Policy) (*parsedRequest, error) {
	var f faults
	if q.Node == "" {
		f.add("nodeName", errRequired)
	}
	w := &parsedRequest{pod: pod{q.Name, q.Namespace, q.UID, q.Node}}
	w.pod.check(&f)
	switch count := max(len(q.Items), len(q.SubENIs)); {
	case count == 0:
		f.add("iaasIPsAllocationRequest", errRequired)
	case len(q.Items) > 0 && len(q.SubENIs) > 0:
		f.add("iaasIPsAllocationRequest", errors.New("and subEniRequests must not both be given"))
	case count > maximumItems:
		f.add("the request", fmt.Errorf("has more than %d items", maximumItems))
	case len(q.Items) > 0:
		return w, w.readItems(p, q.Items, f)
	default:
		return w, w.readSubENIs(p, q.SubENIs, f)
	}
	return nil, f.problem()
}

// readItems pairs the IPv4 and IPv6 items on the same NIC and in the same pool, in order: an interface of a Pod has at
// most one address of each family.
func (w *parsedRequest) readItems(p *policy.Policy, items []item, f faults) error {
	type place struct {
		parent string
		pool   *policy.Pool
	}
	single := map[place]map[int][]*nic{}
	seen := map[netip.Addr]bool{}
	var unknown error
	for i, one := range items {
		at := func(field string) string { return fmt.Sprintf("iaasIPsAllocationRequest[%d].%s", i, field) }
		address, err := parseAddress(one.Address)
		f.add(at("ipAddress"), errors.Join(err, checkRepeated(seen, address)))
		subnet, err := parseSubnet(one.Subnet)
		f.add(at("subnet"), err)
		f.add(at("ipAddress"), checkInside(subnet, address))
		parent, err := parseMAC(one.Parent, false)
		f.add(at("parentNicMac"), err)
		if len(f) > 0 {
			continue
		}
		pool, err := poolOf(p, subnet)
		if err != nil {
			unknown = errors.Join(unknown, err)
			continue
		}
		here := place{parent, pool}
		if single[here] == nil {
			single[here] = map[int][]*nic{}
		}
		w.pair(single[here], &nic{parent: parent, pool: pool, addresses: []netip.Addr{address}}, subnet)
	}
	return cmp.Or(f.problem(), unknown)
}

// pair adds an item to the first interface that has only the other family, or to a new interface.
func (w *parsedRequest) pair(single map[int][]*nic, fresh *nic, subnet netip.Prefix) {
	address := fresh.addresses[0]
	own, other := bits4, bits6
	if address.Is6() {
		own, other = other, own
	}
	n := fresh
	if waiting := single[other]; len(waiting) > 0 {
		n, single[other] = waiting[0], waiting[1:]
		if n.addresses = append(n.addresses, address); address.Is4() {
			n.addresses[0], n.addresses[1] = n.addresses[1], n.addresses[0]
		}
	} else {
		single[own] = append(single[own], fresh)
		w.nics = append(w.nics, fresh)
	}
	w.add(n, subnet, address)
}

// readSubENIs reads the newer shape, where each item is an interface.
func (w *parsedRequest) readSubENIs(p *policy.Policy, items []subENI, f faults) error {
	seen := map[netip.Addr]bool{}
	var unknown error
	for i, one := range items {
		at := func(field string) string { return fmt.Sprintf("subEniRequests[%d].%s", i, field) }
		address4, err := parseFamily(one.Address4, bits4)
		f.add(at("ipv4Address"), errors.Join(err, checkRepeated(seen, address4)))
		address6, err := parseFamily(one.Address6, bits6)
		f.add(at("ipv6Address"), errors.Join(err, checkRepeated(seen, address6)))
		if one.Address4 == "" && one.Address6 == "" {
			f.add(at("ipv4Address"), errors.New("or ipv6Address is required"))
		}
		subnet, err := parseSubnet(one.Subnet)
		f.add(at("subnet"), err)
		if address4.IsValid() {
			f.add(at("ipv4Address"), checkInside(subnet, address4))
		} else {
			f.add(at("ipv6Address"), checkInside(subnet, address6))
		}
		parent, err := parseMAC(one.Parent, false)
		f.add(at("parentNicMac"), err)
		if len(f) > 0 {
			continue
		}
		pool, err := poolOf(p, subnet)
		if err != nil {
			unknown = errors.Join(unknown, err)
			continue
		}
		n := &nic{parent: parent, pool: pool}
		for _, address := range []netip.Addr{address4, address6} {
			if address.IsValid() {
				n.addresses = append(n.addresses, address)
			}
		}
		w.nics = append(w.nics, n)
		w.add(n, subnet, address4, address6)
	}
	return cmp.Or(f.problem(), unknown)
}

// checkRepeated returns an error for a repeated address.
func checkRepeated(seen map[netip.Addr]bool, address netip.Addr) error {
	if !address.IsValid() {
		return nil
	}
	if seen[address] {
		return errors.New("is requested twice")
	}
	seen[address] = true
	return nil
}

// checkInside returns an error for an address outside of its subnet.
func checkInside(subnet netip.Prefix, address netip.Addr) error {
	if subnet.IsValid() && address.IsValid() && !subnet.Contains(address) {
		return fmt.Errorf("is not in the subnet %s", subnet)
	}
	return nil
}

// poolOf returns the pool with this subnet.
func poolOf(p *policy.Policy, subnet netip.Prefix) (*policy.Pool, error) {
	if pool := p.PoolOf(subnet); pool != nil {
		return pool, nil
	}
	return nil, api.Problemf(http.StatusNotFound, "no pool has the subnet %s", subnet)
}

// maximumItems limits the items of a request, which has the interfaces of one Pod.
const maximumItems = 128

// maximumName limits each name in a request, in bytes: the length of a DNS subdomain (k8s.io/apimachinery,
// DNS1123SubdomainMaxLength).
const maximumName = 253

// errRequired means that a field is missing.
var errRequired = errors.New("is required")

// faults lists the mistakes of a request, each with its field.
type faults []string

// add adds the mistake of a field, unless it is nil.
func (f *faults) add(field string, err error) {
	if err != nil {
		*f = append(*f, field+" "+err.Error())
	}
}

// problem returns the mistakes as one error, or nil.
func (f faults) problem() error {
	if len(f) == 0 {
		return nil
	}
	return api.Problemf(http.StatusBadRequest, "%s", strings.Join(f, "; "))
}

// pod is the Pod of a request. All fields except the node may be empty.
type pod struct{ Name, Namespace, UID, Node string }

// check finds invalid names of a Pod in an allocation: they are stored and become parts of keys.
func (p pod) check(f *faults) {
	f.add("podName", api.CheckName(p.Name))
	f.add("podNamespace", api.CheckNamespace(p.Namespace))
	f.add("podUID", api.CheckUID(p.UID))
	f.add("nodeName", api.CheckName(p.Node))
}

// checkReleased finds names that cannot exist. A release stores nothing: older allocations can be released under the
// same names.
func (p pod) checkReleased(f *faults) {
	for _, name := range []struct{ field, value string }{{"podName", p.Name}, {"podNamespace", p.Namespace}, {"podUID", p.UID}} {
		f.add(name.field, checkName(name.value))
	}
	f.add("nodeName", api.CheckName(p.Node))
}

func checkName(name string) error {
	if len(name) > maximumName {
		return fmt.Errorf("has more than %d characters", maximumName)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return errors.New("has control characters")
	}
	return nil
}

// holder returns the Pod for the ledger, with the interface of the node that carries its VLAN. The holder exists while
// any Pod has this name, because Spiderpool passes the address of a StatefulSet's Pod to the next Pod with its name
// without a request. The owner's key contains the UID.
func (p pod) holder(parent string) network.Holder {
	h := network.Holder{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, Node: p.Node, Device: parent}
	if p.Name == "" || p.Namespace == "" {
		h.UID = p.UID
	}
	return h
}

// parseAddress reads an address as Go's net package does, so that it has the form of net.IP.
func parseAddress(text string) (netip.Addr, error) {
	if text == "" {
		return netip.Addr{}, errRequired
	}
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" {
		return netip.Addr{}, errors.New("must be an address without a prefix")
	}
	return address.Unmap(), nil
}

// parseFamily works like parseAddress for one family; an empty text is the zero address.
func parseFamily(text string, bits int) (netip.Addr, error) {
	if text == "" {
		return netip.Addr{}, nil
	}
	address, err := parseAddress(text)
	if err != nil {
		return netip.Addr{}, err
	}
	if address.BitLen() != bits {
		return netip.Addr{}, fmt.Errorf("must be an address of %s", family(bits))
	}
	return address, nil
}

func family(bits int) string {
	if bits == bits4 {
		return "IPv4"
	}
	return "IPv6"
}

// The lengths of addresses.
const (
	bits4 = 32
	bits6 = 128
)

// parseSubnet parses a CIDR. It accepts host bits.
func parseSubnet(text string) (netip.Prefix, error) {
	if text == "" {
		return netip.Prefix{}, errRequired
	}
	subnet, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, errors.New("must be a CIDR, such as 10.0.0.0/24")
	}
	return subnet.Masked(), nil
}

// parseMAC converts a MAC address to lower case with colons. It accepts an empty text only if optional is true.
func parseMAC(text string, optional bool) (string, error) {
	if text == "" {
		if optional {
			return "", nil
		}
		return "", errRequired
	}
	parsed, err := net.ParseMAC(text)
	if err != nil {
		return "", errors.New("must be a MAC address")
	}
	return parsed.String(), nil
}
