// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/attach"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// The labels of libnetwork that mean something here.
const (
	labels          = "com.docker."
	labelGeneric    = "com.docker.network.generic"
	labelInternal   = "com.docker.network.internal"
	labelPortMap    = "com.docker.network.portmap"
	labelMAC        = "com.docker.network.endpoint.macaddress"
	labelInterface  = "com.docker.network.endpoint.ifname"
	labelGateway    = "com.docker.network.gateway"
	requestTypeName = "RequestAddressType"
)

// wrong is the error of a field that cannot be read. What was sent is not repeated.
func wrong(field, format string, values ...any) error {
	return wire.Problemf(http.StatusBadRequest, "%s %s", field, fmt.Sprintf(format, values...))
}

// identifier is what networks and endpoints are called: 64 hexadecimal digits, or 25 letters and digits by Swarm.
var identifier = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_.-]{0,127}$`)

// checkID is the error of what is no identifier.
func checkID(field, id string) error {
	if id == "" {
		return wrong(field, "is missing")
	}
	if !identifier.MatchString(id) {
		return wrong(field, "must be an identifier: at most 128 letters, digits, _, . and -")
	}
	return nil
}

// readIDs are the errors of the identifiers of an endpoint.
func (q *endpointRequest) checkIDs() error {
	if err := checkID("NetworkID", q.NetworkID); err != nil {
		return err
	}
	return checkID("EndpointID", q.EndpointID)
}

// said is what an option says; false where it is absent, null or no text, number or truth.
func (o options) said(label string) (string, bool) {
	raw := bytes.TrimSpace(o[label])
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || raw[0] == 'n' {
		return "", false
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return string(raw), true
	}
	return text, true
}

// own are the options that are not libnetwork's: of an endpoint, those of its user.
func (o options) own() map[string]string {
	var all map[string]string
	for name := range o {
		if strings.HasPrefix(name, labels) {
			continue
		}
		if text, ok := o.said(name); ok {
			if all == nil {
				all = map[string]string{}
			}
			all[name] = text
		}
	}
	return all
}

// generic are the options of the user of a network, which libnetwork puts together under a label of their own.
func (o options) generic() (map[string]string, error) {
	raw, ok := o[labelGeneric]
	if !ok {
		return o.own(), nil
	}
	var inner options
	if err := json.Unmarshal(raw, &inner); err != nil {
		return nil, wrong("Options."+labelGeneric, "must be an object")
	}
	all := o.own()
	for name := range inner {
		text, ok := inner.said(name)
		if !ok {
			if text := string(bytes.TrimSpace(inner[name])); text == "null" {
				continue
			}
			return nil, wrong("Options."+labelGeneric, "must have texts: another thing is in %q", wire.Line(name))
		}
		if all == nil {
			all = map[string]string{}
		}
		all[name] = text
	}
	return all, nil
}

// truth is what an option says of what is or is not.
func (o options) truth(label string) bool {
	text, _ := o.said(label)
	return text == "true"
}

// network reads what is said of a network.
func (q *networkRequest) network() (attach.Network, error) {
	given, err := q.Options.generic()
	if err != nil {
		return attach.Network{}, err
	}
	n := attach.Network{ID: q.NetworkID, Options: given, Internal: q.Options.truth(labelInternal)}
	n.Subnets, err = subnets(q.IPv4Data, q.IPv6Data)
	return n, err
}

// subnets reads those of both families.
func subnets(four, six []ipamData) ([]attach.Subnet, error) {
	var all []attach.Subnet
	for _, of := range []struct {
		field string
		bits  int
		data  []ipamData
	}{{"IPv4Data", 32, four}, {"IPv6Data", 128, six}} {
		for i, d := range of.data {
			s, err := d.subnet(fmt.Sprintf("%s[%d]", of.field, i), of.bits)
			if err != nil {
				return nil, err
			}
			if s.Prefix.IsValid() {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

// subnet reads one; one that is not valid is none. Docker's IPAM driver null says 0.0.0.0/0, and nothing else of it.
func (d ipamData) subnet(field string, bits int) (attach.Subnet, error) {
	s := attach.Subnet{Space: d.AddressSpace}
	if d.Pool == "" {
		if d.Gateway == "" && len(d.AuxAddresses) == 0 {
			return s, nil
		}
		return s, wrong(field+".Pool", "is missing")
	}
	prefix, err := netip.ParsePrefix(d.Pool)
	if err != nil || prefix.Addr().BitLen() != bits || prefix.Addr().Is4In6() {
		return s, wrong(field+".Pool", "must be a subnet, such as %s", example(bits).Masked())
	}
	s.Prefix = prefix.Masked()
	if s.Gateway, err = readAddress(field+".Gateway", d.Gateway, bits); err != nil {
		return s, err
	}
	for name, text := range d.AuxAddresses {
		address, err := readAddress(field+".AuxAddresses", text, bits)
		if err != nil {
			return s, err
		}
		if !address.IsValid() {
			continue
		}
		if s.Auxiliary == nil {
			s.Auxiliary = map[string]netip.Addr{}
		}
		s.Auxiliary[name] = address
	}
	return s, nil
}

// example is an address with a length.
func example(bits int) netip.Prefix {
	if bits == 32 {
		return netip.MustParsePrefix("192.0.2.1/24")
	}
	return netip.MustParsePrefix("2001:db8::1/64")
}

// nilAddress is how Go writes an address that there is not: Swarm's managers send it where no gateway is wanted.
const nilAddress = "<nil>"

// readAddress reads an address with or without a length; one that is not valid is none.
func readAddress(field, text string, bits int) (netip.Addr, error) {
	if text == "" || text == nilAddress {
		return netip.Addr{}, nil
	}
	plain, _, _ := strings.Cut(text, "/")
	address, err := netip.ParseAddr(plain)
	if plain != text {
		_, err = netip.ParsePrefix(text)
	}
	address = address.Unmap()
	if err != nil || address.BitLen() != bits || address.Zone() != "" {
		return netip.Addr{}, wrong(field, "must be an address, such as %s", example(bits))
	}
	return address, nil
}

// addresses reads those that an endpoint is to have, with the lengths of their subnets.
func (i endpointInterface) addresses() ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, of := range []struct {
		field, text string
		bits        int
	}{{"Interface.Address", i.Address, 32}, {"Interface.AddressIPv6", i.AddressIPv6, 128}} {
		if of.text == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(of.text)
		if err != nil || prefix.Addr().BitLen() != of.bits || prefix.Addr().Is4In6() {
			return nil, wrong(of.field, "must be an address with the length of its subnet, such as %s", example(of.bits))
		}
		all = append(all, prefix)
	}
	return all, nil
}

// hardware reads the MAC address of an endpoint: that of its interface, or that of its options, where it is in base64.
func (q *endpointRequest) hardware() (network.HardwareAddr, error) {
	var asked network.HardwareAddr
	if text := q.Interface.MacAddress; text != "" {
		if asked.UnmarshalText([]byte(text)) != nil || len(asked) != 6 {
			return nil, wrong("Interface.MacAddress", "must be a MAC address of 6 bytes")
		}
		return asked, nil
	}
	raw := q.Options[labelMAC]
	var encoded []byte
	if json.Unmarshal(raw, &encoded) == nil && len(encoded) == 6 {
		return encoded, nil
	}
	text, ok := q.Options.said(labelMAC)
	if !ok || text == "" {
		return nil, nil
	}
	if asked.UnmarshalText([]byte(text)) != nil || len(asked) != 6 {
		return nil, wrong("Options."+labelMAC, "must be a MAC address of 6 bytes")
	}
	return asked, nil
}

// longestName is what the kernel lets an interface be called, in bytes.
const longestName = 15

// interfaceName reads what the interface is to be called in the sandbox.
func (q *endpointRequest) interfaceName() (string, error) {
	name, _ := q.Options.said(labelInterface)
	odd := func(c rune) bool { return c <= ' ' || c == '/' || c == ':' || c == 0x7f }
	if len(name) > longestName || name == "." || name == ".." || strings.ContainsFunc(name, odd) {
		return "", cannot(fmt.Sprintf("%s cannot be the name of an interface: that has at most %d bytes, and no space, / or :", labelInterface, longestName))
	}
	return name, nil
}

// published are the ports that a user wants to reach by the machine.
func (o options) published() ([]portBinding, error) {
	raw, ok := o[labelPortMap]
	if !ok {
		return nil, nil
	}
	var ports []portBinding
	if err := json.Unmarshal(raw, &ports); err != nil {
		return nil, wrong("Options."+labelPortMap, "must be a list of ports")
	}
	return ports, nil
}

// protocols are those that ports have, by their numbers in IP.
var protocols = map[uint8]string{6: "tcp", 17: "udp", 132: "sctp"}

// describe names ports as Docker does, each once.
func describe(ports []portBinding) string {
	var names []string
	for _, p := range ports {
		name := fmt.Sprint(p.Port)
		if protocol := protocols[p.Proto]; protocol != "" {
			name += "/" + protocol
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
