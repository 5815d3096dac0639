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

// Network is a network of containers. The request sets ID, Subnets, Internal and Options; the driver sets the
// rest.
type Network struct {
	ID string `json:"id"`
	// Profile is the name of the selected profile, or "".
	Profile string    `json:"profile,omitempty"`
	Link    link.Spec `json:"link"`
	// Subnets are the network's subnets, as the IPAM driver described them.
	Subnets []Subnet `json:"subnets,omitempty"`
	// Internal prevents access to the outside. Isolated also prevents it through other networks.
	Internal bool `json:"internal,omitempty"`
	Isolated bool `json:"isolated,omitempty"`
	// Outside states that the gateways are routers outside of this machine, so that the bridge does not have
	// their addresses.
	Outside bool `json:"outside,omitempty"`
	// Prefix starts the names of interfaces in sandboxes. The default is eth.
	Prefix string `json:"prefix,omitempty"`
	// Options are the user's options as given.
	Options map[string]string `json:"options,omitempty"`
}

// Subnet is a subnet of a network, as an IPAM driver described it. A prefix of 0 bits means that the driver
// allocates no addresses.
type Subnet struct {
	// Space is the address space, which identifies the IPAM driver.
	Space   string       `json:"space,omitempty"`
	Prefix  netip.Prefix `json:"prefix"`
	Gateway netip.Addr   `json:"gateway,omitzero"`
	// Auxiliary has reserved addresses by name. They are never allocated.
	Auxiliary map[string]netip.Addr `json:"auxiliary,omitempty"`
}

// Endpoint is an interface of a container in a network. The request sets Network, ID and Options, and
// optionally Addresses, MAC and Name; the driver sets the rest.
type Endpoint struct {
	Network string `json:"network"`
	ID      string `json:"id"`
	// Addresses have the prefix lengths of their subnets, at most one of each family.
	Addresses []netip.Prefix       `json:"addresses,omitempty"`
	MAC       network.HardwareAddr `json:"mac,omitempty"`
	VLAN      uint16               `json:"vlan,omitempty"`
	// Name is the interface's name in the sandbox. By default the sandbox chooses one with the network's
	// prefix.
	Name string `json:"name,omitempty"`
	// Routes and Gateways are set in the sandbox. A default route over the link has no gateway.
	Routes   []network.Route `json:"routes,omitempty"`
	Gateways []netip.Addr    `json:"gateways,omitempty"`
	// Owned is true if the addresses are allocated for the endpoint itself, and released with it.
	Owned bool `json:"owned,omitempty"`
	// Sandbox is the sandbox of the endpoint, or "".
	Sandbox string `json:"sandbox,omitempty"`
	// Options are the user's options.
	Options map[string]string `json:"options,omitempty"`
}

// Gives reports whether the IPAM driver allocates addresses of the subnet.
func (s Subnet) Gives() bool { return s.Prefix.Bits() > 0 }

func (s Subnet) equal(o Subnet) bool {
	return s.Space == o.Space && s.Prefix == o.Prefix && s.Gateway == o.Gateway && maps.Equal(s.Auxiliary, o.Auxiliary)
}

// differences lists the fields in which two requests for a network differ, or "".
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

// asked is the request for an endpoint.
type asked struct {
	Addresses []netip.Prefix       `json:"addresses,omitempty"`
	MAC       network.HardwareAddr `json:"mac,omitempty"`
	Name      string               `json:"name,omitempty"`
	Options   map[string]string    `json:"options,omitempty"`
}

func askedOf(e Endpoint) asked { return asked{e.Addresses, e.MAC, e.Name, e.Options} }

// differences lists the fields in which two requests for an endpoint differ, or "".
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

// identifier matches Docker's identifiers and those of its tests. Names of rows and links contain them.
var identifier = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_.]*$`)

// IsIdentifier reports whether text can identify a network or an endpoint. Docker uses 64 hexadecimal digits,
// Swarm 25 letters and digits.
func IsIdentifier(text string) bool {
	return len(text) <= link.MaxIdentifier && identifier.MatchString(text)
}

// checkIdentifiers returns an error for an invalid identifier. The error does not contain it.
func checkIdentifiers(ids ...string) error {
	for _, id := range ids {
		if !IsIdentifier(id) {
			return fmt.Errorf("%w: an identifier is 1 to %d letters, digits, dots, dashes and underscores", ErrImpossible, link.MaxIdentifier)
		}
	}
	return nil
}

// errDiffers returns the error for a different request with an existing identifier.
func errDiffers(what, id, differ string) error {
	return fmt.Errorf("%w: %s %s is there already, with other %s", ErrImpossible, what, short(id), differ)
}

// short returns an identifier in Docker's short form.
func short(id string) string { return id[:min(len(id), 12)] }

// isUnknown reports whether an error means an unknown network or endpoint.
func isUnknown(err error) bool {
	return errors.Is(err, ErrUnknownNetwork) || errors.Is(err, ErrUnknownEndpoint)
}
