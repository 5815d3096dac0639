// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// The options of endpoints.
const (
	// endpointAddress selects the address of an endpoint with addresses of its own.
	endpointAddress = "address"
	// endpointRoutes adds routes in the sandbox.
	endpointRoutes = "routes"
	// endpointVLAN is the VLAN of an endpoint in a network of kind vlan without one.
	endpointVLAN = "vlan"
)

// plan is a planned endpoint with its sources.
type plan struct {
	endpointRow
	policy  *policy.Policy
	profile *policy.Profile
	subject policy.Subject
	// shares is true if all endpoints of the network have the MAC address of its parent.
	shares bool
	// wanted has the addresses that the user requests for the endpoint itself, routes the additional routes.
	wanted []netip.Addr
	routes []network.Route
	// leased has the owners of the addresses that Docker's IPAM leased from us.
	leased []network.Owner
}

// plan plans an endpoint. It changes nothing.
func (a *Driver) plan(ctx context.Context, n networkRow, e Endpoint) (*plan, error) {
	p := &plan{endpointRow: endpointRow{Asked: askedOf(e), Trunk: trunk(n.Link)}, policy: a.options.Policy(), shares: n.Link.Kind == link.Ipvlan}
	p.Endpoint = Endpoint{Network: e.Network, ID: e.ID, Addresses: e.Addresses, MAC: e.MAC, VLAN: n.Link.VLAN, Name: e.Name, Options: e.Options}
	if n.Link.Kind != link.VLAN {
		p.VLAN = 0
	}
	if n.Profile != "" {
		if p.profile = p.policy.Profile(n.Profile); p.profile == nil {
			return nil, fmt.Errorf("%w: there is no profile %q any more, of which the network is", ErrImpossible, n.Profile)
		}
	}
	if err := p.options(n, e.Options); err != nil {
		return nil, err
	}
	if err := p.addresses(n); err != nil {
		return nil, err
	}
	p.subject = policy.Subject{Contract: ipam.Contract, Profile: n.Profile, Node: a.options.Node, Network: n.ID, Options: optionsOf(n, e), Addresses: p.wanted}
	for _, address := range e.Addresses {
		p.subject.Addresses = append(p.subject.Addresses, address.Addr())
	}
	p.Owned = len(e.Addresses) == 0 && n.owns(p.profile)
	if len(p.wanted) > 0 && !p.Owned {
		return nil, fmt.Errorf("%w: the option %s is for networks with --ipam-driver null whose profile has pools", ErrImpossible, endpointAddress)
	}
	if p.Owned {
		return p, nil // the rest follows from its addresses, once it has them
	}
	return p, a.follow(ctx, n, p)
}

// optionsOf returns the user's options; those of the endpoint override those of the network.
func optionsOf(n networkRow, e Endpoint) map[string]string {
	all := map[string]string{}
	maps.Copy(all, n.Options)
	maps.Copy(all, e.Options)
	return all
}

// options parses the endpoint's options.
func (p *plan) options(n networkRow, options map[string]string) error {
	known := []string{endpointAddress, endpointRoutes, endpointVLAN}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		text := options[name]
		var err error
		switch {
		case strings.HasPrefix(name, ipam.OwnOptions):
		case name == endpointAddress:
			p.wanted, err = parseAddresses(text)
		case name == endpointRoutes:
			p.routes, err = parseRoutes(text)
		case name == endpointVLAN && (n.Link.Kind != link.VLAN || n.Link.VLAN != 0):
			err = errors.New("is for networks of kind vlan that have no VLAN themselves")
		case name == endpointVLAN:
			err = number(&p.VLAN, text, 1, link.MaxVLAN)
		default:
			return fmt.Errorf("%w: endpoints have no option %q%s; there are %s", ErrImpossible, printable(name), source.Suggest(name, known), strings.Join(known, ", "))
		}
		if err != nil {
			return fmt.Errorf("%w: the option %s %w", ErrImpossible, name, err)
		}
	}
	return nil
}

// parseAddresses parses at most one address of each family.
func parseAddresses(text string) ([]netip.Addr, error) {
	var all []netip.Addr
	for item := range strings.SplitSeq(text, ",") {
		address, err := parseAddress(item)
		if err == nil && slices.ContainsFunc(all, func(o netip.Addr) bool { return o.BitLen() == address.BitLen() }) {
			err = errors.New("must be at most one of each family")
		}
		if err != nil {
			return nil, err
		}
		all = append(all, address)
	}
	return all, nil
}

// addresses validates the given addresses and the MAC address.
func (p *plan) addresses(n networkRow) error {
	for i, address := range p.Addresses {
		if !address.IsValid() || address.Addr().Zone() != "" || address.Addr().Is4In6() {
			return fmt.Errorf("%w: that is no address of an interface", ErrImpossible)
		}
		if slices.ContainsFunc(p.Addresses[:i], func(o netip.Prefix) bool { return o.Addr().BitLen() == address.Addr().BitLen() }) {
			return fmt.Errorf("%w: an endpoint has at most one address of each family", ErrImpossible)
		}
		if err := n.gives(address.Addr()); err != nil {
			return err
		}
		s, _ := n.subnet(address.Addr())
		if pool, prefix := s.overlap(p.policy); pool != nil {
			return fmt.Errorf("%w: %s of the network overlaps %s of the pool %s by now, which gives its addresses to others, too: make the network anew",
				ErrImpossible, s.Prefix, prefix, pool.Name)
		}
	}
	if len(p.MAC) == 0 {
		return nil
	}
	if p.shares {
		return fmt.Errorf("%w: all endpoints of an ipvlan have the MAC address of their parent: none can be asked for", ErrImpossible)
	}
	if err := link.MACProblem(p.MAC); err != nil {
		return fmt.Errorf("%w: %w", ErrImpossible, err)
	}
	return nil
}

// subnet returns the subnet that contains an address.
func (n networkRow) subnet(address netip.Addr) (Subnet, bool) {
	for _, s := range n.Subnets {
		if s.Gives() && s.Prefix.Contains(address) {
			return s, true
		}
	}
	return Subnet{}, false
}

// gives returns an error if an endpoint cannot have the address.
func (n networkRow) gives(address netip.Addr) error {
	giving := slices.ContainsFunc(n.Subnets, Subnet.Gives)
	if _, ok := n.subnet(address); giving && !ok {
		return fmt.Errorf("%w: %s is in no subnet of the network", ErrImpossible, address)
	}
	for _, s := range n.Subnets {
		if s.Gateway == address {
			return fmt.Errorf("%w: %s is the gateway's", network.ErrTaken, address)
		}
		for name, auxiliary := range s.Auxiliary {
			if auxiliary == address {
				return fmt.Errorf("%w: %s is the auxiliary address %s", network.ErrTaken, address, printable(name))
			}
		}
	}
	if slices.ContainsFunc(n.Gateways, func(g netip.Prefix) bool { return g.Addr() == address }) {
		return fmt.Errorf("%w: %s is the bridge's", network.ErrTaken, address)
	}
	return nil
}

// derivedMAC returns a locally administered unicast address (IEEE 802, 8.2) derived from the identifiers.
func derivedMAC(network, endpoint string) []byte {
	sum := sha256.Sum256([]byte(endpointKey(network, endpoint)))
	mac := sum[:6]
	mac[0] = mac[0]&^1 | 2
	return mac
}
