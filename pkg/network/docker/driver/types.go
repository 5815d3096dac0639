// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// Network is one network of containers. Whoever asks for it says ID, Subnets, Internal and Options; the rest follows.
type Network struct {
	ID string `json:"id"`
	// Profile is the name of the one that the user chose; empty: none.
	Profile string    `json:"profile,omitempty"`
	Link    link.Spec `json:"link"`
	// Subnets are those that its addresses are of, with what was said of them.
	Subnets []Subnet `json:"subnets,omitempty"`
	// Internal says that nothing outside is to be reached, and Isolated that no other network is to give a way out either.
	Internal bool `json:"internal,omitempty"`
	Isolated bool `json:"isolated,omitempty"`
	// Outside says that the gateways are routers outside of this machine: the bridge does not have their addresses.
	Outside bool `json:"outside,omitempty"`
	// Prefix begins the names of interfaces in sandboxes; empty: eth.
	Prefix string `json:"prefix,omitempty"`
	// Options are those of the user, as they were written.
	Options map[string]string `json:"options,omitempty"`
}

// Subnet is one of a network, with what an IPAM driver has said of it. A prefix of no bits says that the driver gives no addresses.
type Subnet struct {
	// Space is the address space, by which IPAM drivers are told apart.
	Space   string       `json:"space,omitempty"`
	Prefix  netip.Prefix `json:"prefix"`
	Gateway netip.Addr   `json:"gateway,omitzero"`
	// Auxiliary are addresses that are never given to an endpoint, by their names.
	Auxiliary map[string]netip.Addr `json:"auxiliary,omitempty"`
}

// Endpoint is one interface of a container in a network. Whoever asks for it says Network, ID and Options, and of Addresses, MAC and Name what is not
// to be chosen; the rest follows.
type Endpoint struct {
	Network string `json:"network"`
	ID      string `json:"id"`
	// Addresses have the lengths of their subnets, at most one of each family.
	Addresses []netip.Prefix       `json:"addresses,omitempty"`
	MAC       network.HardwareAddr `json:"mac,omitempty"`
	VLAN      uint16               `json:"vlan,omitempty"`
	// Name is that of the interface in the sandbox; empty: the sandbox chooses one that begins with the network's prefix.
	Name string `json:"name,omitempty"`
	// Routes and Gateways are set in the sandbox. A route to everything over the link has no gateway.
	Routes   []network.Route `json:"routes,omitempty"`
	Gateways []netip.Addr    `json:"gateways,omitempty"`
	// Owned says that the addresses are allocations of the endpoint itself, which go with it.
	Owned bool `json:"owned,omitempty"`
	// Sandbox is that which the endpoint has joined; empty: none.
	Sandbox string `json:"sandbox,omitempty"`
	// Options are those of the user.
	Options map[string]string `json:"options,omitempty"`
}

// Gives says whether the IPAM driver gives addresses of the subnet.
func (s Subnet) Gives() bool { return s.Prefix.Bits() > 0 }

func (s Subnet) equal(o Subnet) bool {
	return s.Space == o.Space && s.Prefix == o.Prefix && s.Gateway == o.Gateway && maps.Equal(s.Auxiliary, o.Auxiliary)
}

// differences are what two requests for one network want differently; empty: they are the same.
func (n Network) differences(o Network) string {
	var differ []string
	if !maps.Equal(n.Options, o.Options) {
		differ = append(differ, "options")
	}
	if !slices.EqualFunc(n.Subnets, o.Subnets, Subnet.equal) {
		differ = append(differ, "subnets")
	}
	if n.Internal != o.Internal {
		differ = append(differ, "internal")
	}
	return strings.Join(differ, ", ")
}

// asked is what was asked for of an endpoint.
type asked struct {
	Addresses []netip.Prefix       `json:"addresses,omitempty"`
	MAC       network.HardwareAddr `json:"mac,omitempty"`
	Name      string               `json:"name,omitempty"`
	Options   map[string]string    `json:"options,omitempty"`
}

func askedOf(e Endpoint) asked { return asked{e.Addresses, e.MAC, e.Name, e.Options} }

// differences are what two requests for one endpoint want differently; empty: they are the same.
func (a asked) differences(o asked) string {
	var differ []string
	if !slices.Equal(a.Addresses, o.Addresses) {
		differ = append(differ, "addresses")
	}
	if !bytes.Equal(a.MAC, o.MAC) {
		differ = append(differ, "MAC address")
	}
	if a.Name != o.Name {
		differ = append(differ, "name")
	}
	if !maps.Equal(a.Options, o.Options) {
		differ = append(differ, "options")
	}
	return strings.Join(differ, ", ")
}

// identifier is what Docker's identifiers and those of its tests are: names of rows and links are made of them.
var identifier = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_.]*$`)

// IsIdentifier says whether a text can be the identifier of a network or an endpoint. Docker's are 64 hexadecimal digits, or 25 letters and digits by Swarm.
func IsIdentifier(text string) bool {
	return len(text) <= link.MaxIdentifier && identifier.MatchString(text)
}

// checkIdentifiers says that a text cannot be an identifier, without repeating it.
func checkIdentifiers(ids ...string) error {
	for _, id := range ids {
		if !IsIdentifier(id) {
			return fmt.Errorf("%w: an identifier is 1 to %d letters, digits, dots, dashes and underscores", ErrImpossible, link.MaxIdentifier)
		}
	}
	return nil
}

// errDiffers is the error of another request with an identifier that there is.
func errDiffers(what, id, differ string) error {
	return fmt.Errorf("%w: %s %s is there already, with other %s", ErrImpossible, what, short(id), differ)
}

// short is an identifier as people are shown it.
func short(id string) string { return id[:min(len(id), 12)] }

// isUnknown says that there is nothing of that identifier.
func isUnknown(err error) bool {
	return errors.Is(err, ErrUnknownNetwork) || errors.Is(err, ErrUnknownEndpoint)
}
