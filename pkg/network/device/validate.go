// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"unicode"
)

// The bounds of the kernel, and of DRANET where it is stricter.
const (
	// minimumMTU is the minimum of IPv4 (RFC 791), minimumMTU6 of IPv6 (RFC 8200): below it, the kernel disables IPv6 on an interface.
	minimumMTU, minimumMTU6 = 68, 1280
	maximumMTU              = 65535
	// maximumOffload is GSO_MAX_SIZE and GRO_MAX_SIZE.
	maximumOffload  = 8 * 65535
	maximumTable    = 1<<32 - 1
	maximumPriority = 32767
	// longestInterface is IFNAMSIZ without the byte that ends it, and longestSwitch ETH_GSTRING_LEN likewise.
	longestInterface, longestSwitch = 15, 31
	// longestProfile is the length of a DNS subdomain (k8s.io/apimachinery, DNS1123SubdomainMaxLength).
	longestProfile           = 253
	scopeUniverse, scopeLink = 0, 253
)

// Validate returns all mistakes of the configuration as Problems: everything that DRANET rejects in a user's
// configuration (pkg/apis/validation.go), and that the kernel would reject later.
func (c *Config) Validate() error {
	var p Problems
	if len(c.Profile) > longestProfile || strings.ContainsFunc(c.Profile, unicode.IsControl) {
		p.add("profile", "%s is not the name of a profile", quote(c.Profile))
	}
	c.Interface.validate(&p)
	for i, route := range c.Routes {
		route.validate(&p, fmt.Sprintf("routes[%d]", i))
	}
	if c.Interface.VRF != nil && len(c.Rules) > 0 {
		p.add("rules", "must be absent for an interface in a VRF")
	}
	for i, rule := range c.Rules {
		rule.validate(&p, fmt.Sprintf("rules[%d]", i))
	}
	for i, neighbor := range c.Neighbors {
		neighbor.validate(&p, fmt.Sprintf("neighbors[%d]", i))
	}
	if mtu := c.Interface.MTU; mtu != nil && *mtu >= minimumMTU && *mtu < minimumMTU6 && c.hasIPv6() {
		p.add("interface.mtu", "%d is less than %d, which IPv6 needs", *mtu, minimumMTU6)
	}
	if c.Ethtool != nil {
		validateSwitches(&p, "ethtool.features", c.Ethtool.Features)
		validateSwitches(&p, "ethtool.privateFlags", c.Ethtool.PrivateFlags)
	}
	return p.err()
}

func (c *Config) hasIPv6() bool {
	is6 := func(cidr string) bool {
		prefix, err := ParsePrefix(cidr)
		return err == nil && prefix.Addr().Is6()
	}
	return slices.ContainsFunc(c.Interface.Addresses, is6) || slices.ContainsFunc(c.Routes, func(r Route) bool { return is6(r.Destination) })
}

func (i *Interface) validate(p *Problems) {
	validateName(p, "interface.name", i.Name)
	for n, text := range i.Addresses {
		field := fmt.Sprintf("interface.addresses[%d]", n)
		if prefix, err := ParsePrefix(text); err != nil {
			p.add(field, "%v", err)
		} else if prefix.Addr().IsMulticast() || prefix.Addr().IsUnspecified() {
			p.add(field, "%s is not an address that an interface can have", text)
		}
	}
	if i.DHCP != nil && *i.DHCP && len(i.Addresses) > 0 {
		p.add("interface.dhcp", "excludes addresses")
	}
	validateRange(p, "interface.mtu", i.MTU, minimumMTU, maximumMTU)
	if i.HardwareAddr != nil {
		mac, err := parseMAC(*i.HardwareAddr)
		switch {
		case err != nil:
			p.add("interface.hardwareAddr", "%v", err)
		case len(mac) == 6 && (mac[0]&1 == 1 || [6]byte(mac) == [6]byte{}):
			p.add("interface.hardwareAddr", "%s is not an address that an interface can have", mac)
		}
	}
	validateRange(p, "interface.gsoMaxSize", i.GSOMaxSize, 1, maximumOffload)
	validateRange(p, "interface.groMaxSize", i.GROMaxSize, 1, maximumOffload)
	validateRange(p, "interface.gsoIPv4MaxSize", i.GSOIPv4MaxSize, 1, maximumOffload)
	validateRange(p, "interface.groIPv4MaxSize", i.GROIPv4MaxSize, 1, maximumOffload)
	validateRange(p, "interface.arpIgnore", i.ARPIgnore, 0, 8)
	validateRange(p, "interface.arpAnnounce", i.ARPAnnounce, 0, 2)
	if i.VRF != nil {
		i.VRF.validate(p, i.Name)
	}
}

func (v *VRF) validate(p *Problems, member string) {
	switch v.Name {
	case "":
		p.add("interface.vrf.name", "is required")
	case member:
		p.add("interface.vrf.name", "%s is the interface itself", quote(v.Name))
	default:
		validateName(p, "interface.vrf.name", v.Name)
	}
	if v.Table == nil {
		return
	}
	if *v.Table < 1 || *v.Table > maximumTable {
		p.add("interface.vrf.table", "%d is not between 1 and %d", *v.Table, maximumTable)
	} else if *v.Table >= 253 && *v.Table <= 255 {
		p.add("interface.vrf.table", "%d is one of the tables 253, 254 and 255, which are the kernel's own", *v.Table)
	}
}

// validateName validates a non-empty name of an interface.
func validateName(p *Problems, field, name string) {
	switch {
	case name == "":
	case len(name) > longestInterface:
		p.add(field, "%s is longer than %d bytes", quote(name), longestInterface)
	case name == "." || name == ".." || name == "lo" || name == "all" || name == "default":
		p.add(field, "%s is a name that the kernel reserves", quote(name))
	case strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r) || r == unicode.ReplacementChar
	}):
		p.add(field, "%s has other characters than letters, digits, -, _ and .", quote(name))
	}
}

func validateRange(p *Problems, field string, value *int32, first, last int32) {
	if value != nil && (*value < first || *value > last) {
		p.add(field, "%d is not between %d and %d", *value, first, last)
	}
}

func validateTable(p *Problems, field string, table int) {
	if table < 0 || table > maximumTable {
		p.add(field, "%d is not between 0 and %d", table, maximumTable)
	}
}

func (r *Route) validate(p *Problems, field string) {
	destination, err := ParsePrefix(r.Destination)
	switch {
	case r.Destination == "":
		p.add(field+".destination", "is required")
	case err != nil:
		p.add(field+".destination", "%v", err)
	}
	gateway := r.validateAddress(p, field+".gateway", r.Gateway, destination)
	r.validateAddress(p, field+".source", r.Source, destination)
	switch r.Scope {
	case scopeUniverse:
		if r.Gateway == "" {
			p.add(field+".gateway", "is required, except for a route of scope %d (link)", scopeLink)
		}
	case scopeLink:
		if gateway.IsValid() {
			p.add(field+".scope", "a route of scope %d (link) must not have a gateway", scopeLink)
		}
	default:
		p.add(field+".scope", "%d must be %d (universe) or %d (link)", r.Scope, scopeUniverse, scopeLink)
	}
	validateTable(p, field+".table", r.Table)
}

// validateAddress reads an address of a route, when there is one.
func (r *Route) validateAddress(p *Problems, field, text string, destination netip.Prefix) netip.Addr {
	if text == "" {
		return netip.Addr{}
	}
	address, err := ParseAddr(text)
	switch {
	case err != nil:
		p.add(field, "%v", err)
	case address.IsUnspecified() || address.IsMulticast():
		p.add(field, "%s is not the address of a host", text)
	case destination.IsValid() && destination.Addr().BitLen() != address.BitLen():
		p.add(field, "%s is not of the family of the destination %s", text, destination)
	}
	return address
}

func (r *Rule) validate(p *Problems, field string) {
	if r.Priority < 0 || r.Priority > maximumPriority {
		p.add(field+".priority", "%d is not between 0 and %d", r.Priority, maximumPriority)
	}
	validateTable(p, field+".table", r.Table)
	var ends []netip.Prefix
	for _, end := range []struct{ field, text string }{{".source", r.Source}, {".destination", r.Destination}} {
		if end.text == "" {
			continue
		}
		prefix, err := ParsePrefix(end.text)
		if err != nil {
			p.add(field+end.field, "%v", err)
			continue
		}
		ends = append(ends, prefix)
	}
	if len(ends) == 2 && ends[0].Addr().BitLen() != ends[1].Addr().BitLen() {
		p.add(field, "the source %s and the destination %s are of different families", ends[0], ends[1])
	}
}

func (n *Neighbor) validate(p *Problems, field string) {
	if n.Destination == "" {
		p.add(field+".destination", "is required")
	} else if address, err := ParseAddr(n.Destination); err != nil {
		p.add(field+".destination", "%v", err)
	} else if address.IsUnspecified() {
		p.add(field+".destination", "%s is not the address of a host", n.Destination)
	}
	if n.HardwareAddr == "" {
		p.add(field+".hardwareAddr", "is required")
	} else if _, err := parseMAC(n.HardwareAddr); err != nil {
		p.add(field+".hardwareAddr", "%v", err)
	}
}

func validateSwitches(p *Problems, field string, switches map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(switches)) {
		if name == "" || len(name) > longestSwitch || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
			p.add(field, "%s is not the name of a feature or flag: use 1 to %d printable bytes", quote(name), longestSwitch)
		}
	}
}
