// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package spiderpool

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// maximumItems bounds the items of a request; it is for the interfaces of one Pod.
const maximumItems = 128

// maximumName bounds each name of a request; those of Kubernetes are shorter.
const maximumName = 253

// errRequired says that a field is missing.
var errRequired = errors.New("is required")

// faults lists the mistakes of a request, each with its field.
type faults []string

// note adds the mistake of a field, unless it is nil.
func (f *faults) note(field string, err error) {
	if err != nil {
		*f = append(*f, field+" "+err.Error())
	}
}

// problem returns the mistakes as one error, or nil.
func (f faults) problem() error {
	if len(f) == 0 {
		return nil
	}
	return wire.Problemf(http.StatusBadRequest, "%s", strings.Join(f, "; "))
}

// pod is the Pod of a request. All fields except the node may be empty.
type pod struct{ Name, Namespace, UID, Node string }

// check finds invalid names of a Pod in an allocation: they are stored and become parts of keys.
func (p pod) check(f *faults) {
	f.note("podName", wire.CheckName(p.Name))
	f.note("podNamespace", wire.CheckNamespace(p.Namespace))
	f.note("podUID", wire.CheckUID(p.UID))
	f.note("nodeName", wire.CheckName(p.Node))
}

// checkReleased finds names that cannot exist. A release stores nothing: older allocations can be released under the
// same names.
func (p pod) checkReleased(f *faults) {
	for _, name := range []struct{ field, value string }{{"podName", p.Name}, {"podNamespace", p.Namespace}, {"podUID", p.UID}} {
		f.note(name.field, checkName(name.value))
	}
	f.note("nodeName", wire.CheckName(p.Node))
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

// holder returns the Pod for the ledger, with the interface of the node that carries its VLAN. A named Pod exists as
// long as one with this name does: Spiderpool passes the address of a StatefulSet's Pod to the next one with its name
// without a request. The owner's key contains the UID.
func (p pod) holder(parent string) network.Holder {
	h := network.Holder{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, Node: p.Node, Device: parent}
	if p.Name == "" || p.Namespace == "" {
		h.UID = p.UID
	}
	return h
}

// parseAddress reads an address as Go's net package does, so that its form is that of net.IP.
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

// parseSubnet reads a CIDR; bits of the host are let pass.
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
