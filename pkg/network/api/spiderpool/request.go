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
	"slices"
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

// ownerOf returns the owner of an interface with a first address. A Pod that asks again for the same address on the
// same interface of the node is the same owner, so that a release can name it; the other family is not part of the name.
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

// pod is the Pod of a request. All fields except the node may be empty.
type pod struct{ Name, Namespace, UID, Node string }

// check finds invalid names of a Pod in an allocation: they are stored and become parts of keys.
func (p pod) check(f *api.Faults) {
	f.Add("podName", api.CheckName(p.Name))
	f.Add("podNamespace", api.CheckNamespace(p.Namespace))
	f.Add("podUID", api.CheckUID(p.UID))
	f.Add("nodeName", api.CheckName(p.Node))
}

// maximumName limits each name in a request, in bytes: the length of a DNS subdomain (k8s.io/apimachinery,
// DNS1123SubdomainMaxLength).
const maximumName = 253

// checkReleased finds names that cannot exist. A release stores nothing: older allocations can be released under the
// same names.
func (p pod) checkReleased(f *api.Faults) {
	for _, name := range []struct{ field, value string }{{"podName", p.Name}, {"podNamespace", p.Namespace}, {"podUID", p.UID}} {
		if len(name.value) > maximumName {
			f.Add(name.field, fmt.Errorf("has more than %d characters", maximumName))
		} else if strings.ContainsFunc(name.value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			f.Add(name.field, errors.New("has control characters"))
		}
	}
	f.Add("nodeName", api.CheckName(p.Node))
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

// maximumItems limits the items of a request, which has the interfaces of one Pod.
const maximumItems = 128

// errRequired means that a field is missing.
var errRequired = errors.New("is required")

// parsedRequest is a request that has been read, of either shape.
type parsedRequest struct {
	policy *policy.Policy
	pod    pod
	nics   []*nic
	items  []parsedItem
	faults api.Faults
	// unknown is the problem of items with an unknown subnet.
	unknown error
	// seen are the addresses of earlier items.
	seen map[netip.Addr]bool
}

// parsedItem is an item of a request: its interface, and its address fields in canonical form.
type parsedItem struct {
	nic       *nic
	subnet    netip.Prefix
	addresses []netip.Addr
}

// addressField is a field with an address of a family, or of any family if bits is 0.
type addressField struct {
	name, text string
	bits       int
}

// read parses a request of either shape. The error names all mistakes; it names unknown subnets only if there are no
// other mistakes.
func (q *allocateRequest) read(p *policy.Policy) (*parsedRequest, error) {
	w := &parsedRequest{policy: p, pod: pod{q.Name, q.Namespace, q.UID, q.Node}, seen: map[netip.Addr]bool{}}
	if q.Node == "" {
		w.faults.Add("nodeName", errRequired)
	}
	w.pod.check(&w.faults)
	switch count := max(len(q.Items), len(q.SubENIs)); {
	case count == 0:
		w.faults.Add("iaasIPsAllocationRequest", errRequired)
	case len(q.Items) > 0 && len(q.SubENIs) > 0:
		w.faults.Add("iaasIPsAllocationRequest", errors.New("and subEniRequests must not both be given"))
	case count > maximumItems:
		w.faults.Add("the request", fmt.Errorf("has more than %d items", maximumItems))
	default:
		for i, one := range q.Items {
			w.read(fmt.Sprintf("iaasIPsAllocationRequest[%d].", i), one.Parent, one.Subnet, addressField{"ipAddress", one.Address, 0})
		}
		for i, one := range q.SubENIs {
			at := fmt.Sprintf("subEniRequests[%d].", i)
			w.read(at, one.Parent, one.Subnet, addressField{"ipv4Address", one.Address4, 32}, addressField{"ipv6Address", one.Address6, 128})
		}
	}
	return w, cmp.Or(w.faults.Problem(), w.unknown)
}

// read parses an item with one or two address fields.
func (w *parsedRequest) read(at, parent, subnet string, fields ...addressField) {
	n, item := &nic{}, parsedItem{}
	first := "" // the field of the first address
	for _, field := range fields {
		address, err := field.parse()
		if address.IsValid() {
			if w.seen[address] {
				err = errors.New("is requested twice")
			}
			w.seen[address] = true
			first = cmp.Or(first, field.name)
			n.addresses = append(n.addresses, address)
		}
		w.faults.Add(at+field.name, err)
		item.addresses = append(item.addresses, address)
	}
	if len(fields) == 2 && fields[0].text == "" && fields[1].text == "" {
		w.faults.Add(at+fields[0].name, errors.New("or "+fields[1].name+" is required"))
	}
	var err error
	item.subnet, err = parseSubnet(subnet)
	w.faults.Add(at+"subnet", err)
	if err == nil && first != "" && !item.subnet.Contains(n.addresses[0]) {
		w.faults.Add(at+first, fmt.Errorf("is not in the subnet %s", item.subnet))
	}
	n.parent, err = parseMAC(parent, false)
	w.faults.Add(at+"parentNicMac", err)
	if len(w.faults) > 0 {
		return
	}
	if n.pool = w.policy.PoolOf(item.subnet); n.pool == nil {
		w.unknown = errors.Join(w.unknown, api.Problemf(http.StatusNotFound, "no pool has the subnet %s", item.subnet))
		return
	}
	if item.nic = n; len(fields) == 1 {
		item.nic = w.pair(n)
	}
	if item.nic == n {
		w.nics = append(w.nics, n)
	}
	w.items = append(w.items, item)
}

// pair adds the address of n to the first interface with the same parent and pool that has only the other family, and
// returns that interface, or n if there is none: an interface of a Pod has at most one address of each family.
func (w *parsedRequest) pair(n *nic) *nic {
	address := n.addresses[0]
	i := slices.IndexFunc(w.nics, func(other *nic) bool {
		return other.parent == n.parent && other.pool == n.pool && len(other.addresses) == 1 && other.addresses[0].BitLen() != address.BitLen()
	})
	if i < 0 {
		return n
	}
	other := w.nics[i]
	other.addresses = append(other.addresses, address)
	slices.SortFunc(other.addresses, netip.Addr.Compare) // IPv4 is less
	return other
}

// parse reads the address of the field. An empty text is the zero address if the family is known.
func (f addressField) parse() (netip.Addr, error) {
	if f.text == "" && f.bits > 0 {
		return netip.Addr{}, nil
	}
	address, err := parseAddress(f.text)
	if err == nil && f.bits > 0 && address.BitLen() != f.bits {
		return netip.Addr{}, fmt.Errorf("must be an address of %s", map[int]string{32: "IPv4", 128: "IPv6"}[f.bits])
	}
	return address, err
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
