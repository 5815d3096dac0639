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

// faults are what is wrong with a request, each with its field.
type faults []string

// note keeps what is wrong with a field; nil is nothing.
func (f *faults) note(field string, err error) {
	if err != nil {
		*f = append(*f, field+" "+err.Error())
	}
}

// problem is nil when nothing is wrong.
func (f faults) problem() error {
	if len(f) == 0 {
		return nil
	}
	return wire.Problemf(http.StatusBadRequest, "%s", strings.Join(f, "; "))
}

// pod is for whom a request is. All but the node may be unknown.
type pod struct{ Name, Namespace, UID, Node string }

// check finds what is wrong with the names of a Pod that is to be given something: they are kept, and become a part of keys.
func (p pod) check(f *faults) {
	f.note("podName", wire.CheckName(p.Name))
	f.note("podNamespace", wire.CheckNamespace(p.Namespace))
	f.note("podUID", wire.CheckUID(p.UID))
	f.note("nodeName", wire.CheckName(p.Node))
}

// checkReleased finds names that cannot be looked for. A release keeps nothing of what it says: what was taken in before can be given back by the
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

// holder is the Pod as the ledger knows it, with the interface of the node that carries its VLAN. A Pod that has a name lives as long as one with
// this name does: Spiderpool gives the address of a StatefulSet's Pod to the next one of its name and asks nobody. The UID is in the key of the owner.
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

// parseFamily is parseAddress for one family; nothing is the zero address.
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

// parseMAC reads a MAC address into lower case with colons; what is empty is so only where that is allowed.
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
