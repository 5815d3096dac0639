// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	wire "github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// The type of requests matches libnetwork's drivers/remote/api and ipams/remote/api, which have no JSON tags: keys are
// the field names, in any case. It has the fields of all methods.

// request is a request of either driver.
type request struct {
	NetworkID  string
	EndpointID string
	SandboxKey string
	Options    options
	IPv4Data   []ipamData
	IPv6Data   []ipamData
	Interface  endpointInterface
	// DiscoveryData depends on the type.
	DiscoveryType int
	DiscoveryData json.RawMessage

	PoolID       string
	AddressSpace string
	Pool         netip.Prefix
	SubPool      netip.Prefix
	V6           bool
	Address      flexibleAddress
}

// about returns keys and values for the log that identify the objects of a request. Identifiers are in Docker's short
// form.
func (q *request) about() []any {
	subnet, _ := q.Pool.MarshalText()
	address, _ := q.Address.MarshalText()
	var about []any
	for _, pair := range [][2]string{
		{"network", q.NetworkID[:min(len(q.NetworkID), 12)]}, {"endpoint", q.EndpointID[:min(len(q.EndpointID), 12)]},
		{"pool", q.PoolID}, {"subnet", string(subnet)}, {"address", string(address)},
	} {
		if pair[1] != "" {
			about = append(about, pair[0], wire.Line(pair[1]))
		}
	}
	return about
}

// checkNetwork returns an error for an invalid identifier of the network.
func (q *request) checkNetwork() error { return checkID("NetworkID", q.NetworkID) }

// checkEndpoint returns an error for invalid identifiers of the network and the endpoint.
func (q *request) checkEndpoint() error {
	return cmp.Or(q.checkNetwork(), checkID("EndpointID", q.EndpointID))
}

// checkPool returns an error for an invalid pool identifier. Those of this driver are shorter than the limit.
func (q *request) checkPool() error {
	if q.PoolID == "" || len(q.PoolID) > 512 {
		return invalidField("PoolID", "must be the PoolID from the answer of RequestPool")
	}
	return nil
}

// ipamData describes a subnet of an IPAM driver. Gateways and auxiliary addresses have a prefix length, except
// in the first version of the API.
type ipamData struct {
	AddressSpace string
	Pool         netip.Prefix
	Gateway      flexibleAddress
	AuxAddresses map[string]flexibleAddress
}

// endpointInterface describes an interface. A response must not contain values that the request set.
type endpointInterface struct {
	Address     netip.Prefix `json:",omitzero"`
	AddressIPv6 netip.Prefix `json:",omitzero"`
	MacAddress  string       `json:",omitempty"`
}

// The labels of libnetwork that the driver evaluates.
const (
	labelGeneric   = ipam.OwnOptions + "network.generic"
	labelInternal  = ipam.OwnOptions + "network.internal"
	labelPortMap   = ipam.OwnOptions + "network.portmap"
	labelMAC       = ipam.OwnOptions + "network.endpoint.macaddress"
	labelInterface = ipam.OwnOptions + "network.endpoint.ifname"
	labelGateway   = ipam.TypeGateway
)

// options are libnetwork's labels of a network, endpoint or sandbox.
type options map[string]json.RawMessage

// text returns an option as text, or false if it is missing, null, or not a scalar.
func (o options) text(label string) (string, bool) {
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

// userOptions returns the options without libnetwork's labels. For an endpoint, these are the user's.
func (o options) userOptions() map[string]string {
	all := map[string]string{}
	for name := range o {
		if text, ok := o.text(name); ok && !strings.HasPrefix(name, ipam.OwnOptions) {
			all[name] = text
		}
	}
	return all
}

// generic returns the user's options of a network, which libnetwork sends below a label of its own.
func (o options) generic() (map[string]string, error) {
	all := o.userOptions()
	var inner options
	if raw, ok := o[labelGeneric]; ok && json.Unmarshal(raw, &inner) != nil {
		return nil, invalidField("Options."+labelGeneric, "must be an object")
	}
	texts, err := inner.texts("Options." + labelGeneric)
	maps.Copy(all, texts)
	return all, err
}

// texts returns all options as texts, without those that are null. It fails for any other value, naming the field.
func (o options) texts(field string) (map[string]string, error) {
	all := map[string]string{}
	for name, raw := range o {
		if text, ok := o.text(name); ok {
			all[name] = text
		} else if string(bytes.TrimSpace(raw)) != "null" {
			return nil, invalidField(field, "must have text values: the value of %q is not text", wire.Line(name))
		}
	}
	return all, nil
}

// invalidField returns the error for an invalid field. It does not repeat the field's value.
func invalidField(field, format string, values ...any) error {
	return wire.Problemf(http.StatusBadRequest, "%s %s", field, fmt.Sprintf(format, values...))
}

// identifier matches Docker's identifiers and those of its tests. Names of rows and links contain them.
var identifier = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_.]*$`)

// checkID returns an error for an invalid identifier of a network or an endpoint. Docker uses 64 hexadecimal digits,
// Swarm 25 letters and digits.
func checkID(field, id string) error {
	if id == "" {
		return invalidField(field, "is missing")
	}
	if len(id) > link.MaxIdentifier || !identifier.MatchString(id) {
		return invalidField(field, "must be an identifier: at most %d letters, digits, _, . and -", link.MaxIdentifier)
	}
	return nil
}

// flexibleAddress is an address with or without a prefix length or a port. The zero Addr means none; it is empty, or
// the text of a nil net.IP, as sent by Swarm's managers.
type flexibleAddress struct{ netip.Addr }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *flexibleAddress) UnmarshalText(text []byte) error {
	plain := string(text)
	if host, _, err := net.SplitHostPort(plain); err == nil {
		plain = host
	}
	if plain == "" || plain == "<nil>" {
		return nil
	}
	parsed, err := netip.ParseAddr(plain)
	if strings.Contains(plain, "/") {
		var prefix netip.Prefix
		prefix, err = netip.ParsePrefix(plain)
		parsed = prefix.Addr()
	}
	if err == nil && parsed.Zone() != "" {
		err = errors.New("an address has a zone")
	}
	a.Addr = parsed.Unmap()
	return err
}

// network decodes a network.
func (q *request) network() (driver.Network, error) {
	options, err := q.Options.generic()
	internal, _ := q.Options.text(labelInternal)
	n := driver.Network{ID: q.NetworkID, Options: options, Internal: internal == "true"}
	for family, data := range [][]ipamData{q.IPv4Data, q.IPv6Data} {
		for _, d := range data {
			if !d.Pool.IsValid() && !d.Gateway.IsValid() && len(d.AuxAddresses) == 0 {
				continue // the IPAM driver null sends none or 0.0.0.0/0
			}
			if !d.Pool.IsValid() || d.Pool.Addr().Is4() != (family == 0) || d.Pool.Addr().Is4In6() || d.Gateway.IsValid() &&
				d.Gateway.Is4() != (family == 0) {
				return n, invalidField("IPv4Data or IPv6Data", "must have subnets and gateways of the family")
			}
			s := driver.Subnet{Space: d.AddressSpace, Prefix: d.Pool.Masked(), Gateway: d.Gateway.Addr}
			for name, address := range d.AuxAddresses {
				if address.IsValid() {
					if s.Auxiliary == nil {
						s.Auxiliary = map[string]netip.Addr{}
					}
					s.Auxiliary[name] = address.Addr
				}
			}
			n.Subnets = append(n.Subnets, s)
		}
	}
	return n, err
}

// endpoint decodes an endpoint.
func (q *request) endpoint() (driver.Endpoint, error) {
	e := driver.Endpoint{Network: q.NetworkID, ID: q.EndpointID, Options: q.Options.userOptions()}
	for family, address := range []netip.Prefix{q.Interface.Address, q.Interface.AddressIPv6} {
		if !address.IsValid() {
			continue
		}
		if address.Addr().Is4() != (family == 0) || address.Addr().Is4In6() {
			return e, invalidField("Interface", "must have addresses of the family")
		}
		e.Addresses = append(e.Addresses, address)
	}
	var err error
	if e.MAC, err = q.hardware(); err != nil {
		return e, err
	}
	if e.Name, _ = q.Options.text(labelInterface); e.Name != "" && link.NameProblem(e.Name) != nil {
		return e, wire.Problemf(http.StatusOK, "%s cannot be the name of an interface: that has at most 15 bytes, and no "+
			"space, / or :", labelInterface)
	}
	return e, nil
}

// hardware decodes the MAC address of an endpoint from its interface, or from its options, where it is in base64.
func (q *request) hardware() (mac network.HardwareAddr, err error) {
	if text := q.Interface.MacAddress; text != "" {
		var parsed net.HardwareAddr
		parsed, err = net.ParseMAC(text)
		mac = network.HardwareAddr(parsed)
	} else if raw, ok := q.Options[labelMAC]; ok {
		err = json.Unmarshal(raw, (*[]byte)(&mac))
	}
	if err != nil || len(mac) != 0 && len(mac) != 6 {
		return nil, invalidField("the MAC address", "must have 6 bytes")
	}
	return mac, nil
}
