// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// The limits of the settings in a Spec.
const (
	MaxVLAN = 4094
	MaxVNI  = 1<<24 - 1
	// MinMTU is the minimum of IPv4 (RFC 791), MaxMTU the maximum packet size.
	MinMTU = 68
	MaxMTU = 65535
	// minMTU6 is the minimum of IPv6 (RFC 8200, 5). Linux disables IPv6 below it.
	minMTU6 = 1280
)

// Modes returns the modes of a kind, the default first, or nil if it has none.
func Modes(kind Kind) []string {
	switch kind {
	case Macvlan:
		return []string{"bridge", "private", "vepa", "passthru"}
	case Ipvlan:
		return []string{"l2", "l3", "l3s"}
	default:
		return nil
	}
}

// Problems returns the errors in a Spec by the names of the fields. It does not access the kernel.
func (s Spec) Problems() map[string]error {
	problems := map[string]error{}
	for field, err := range map[string]error{
		"kind": s.kindProblem(), "parent": s.parentProblem(), "vlan": s.vlanProblem(), "mode": s.modeProblem(), "vni": s.vniProblem(),
		"port": s.only(s.Port != 0, "a port"), "local": s.localProblem(), "peers": s.peersProblem(), "mtu": s.mtuProblem(),
	} {
		if err != nil {
			problems[field] = err
		}
	}
	return problems
}

func (s Spec) kindProblem() error {
	if slices.Contains(Kinds(), s.Kind) {
		return nil
	}
	return fmt.Errorf("%q is no kind: there are %s", s.Kind, list(Kinds()))
}

func (s Spec) parentProblem() error {
	if s.Parent == "" {
		if s.Kind == Macvlan || s.Kind == Ipvlan || s.Kind == VLAN {
			return fmt.Errorf("%s needs a parent, the interface of the machine that leads outside", s.Kind)
		}
		return nil
	}
	return NameProblem(s.Parent)
}

func (s Spec) vlanProblem() error {
	switch {
	case s.VLAN == 0:
		return nil
	case s.VLAN > MaxVLAN:
		return fmt.Errorf("%d is no VLAN: 1 to %d", s.VLAN, MaxVLAN)
	case s.Parent == "":
		return errors.New("a VLAN needs a parent that carries it")
	default:
		return nil
	}
}

func (s Spec) modeProblem() error {
	modes := Modes(s.Kind)
	switch {
	case s.Mode == "" || slices.Contains(modes, s.Mode):
		return nil
	case len(modes) == 0:
		return fmt.Errorf("%s has no modes", s.Kind)
	default:
		return fmt.Errorf("%q is no mode of %s: there are %s", s.Mode, s.Kind, list(modes))
	}
}

func (s Spec) vniProblem() error {
	switch {
	case s.Kind != VXLAN:
		return s.only(s.VNI != 0, "a number")
	case s.VNI == 0:
		return fmt.Errorf("a vxlan needs its number, 1 to %d", MaxVNI)
	case s.VNI > MaxVNI:
		return fmt.Errorf("%d is no number of a vxlan: 1 to %d", s.VNI, MaxVNI)
	default:
		return nil
	}
}

func (s Spec) localProblem() error {
	if !s.Local.IsValid() {
		return nil
	}
	if err := s.only(true, "a local address"); err != nil {
		return err
	}
	return endProblem(s.Local)
}

func (s Spec) peersProblem() error {
	if len(s.Peers) == 0 {
		return nil
	}
	if err := s.only(true, "peers"); err != nil {
		return err
	}
	family := s.Peers[0]
	if s.Local.IsValid() {
		family = s.Local
	}
	for _, peer := range s.Peers {
		if err := endProblem(peer); err != nil {
			return err
		}
		if peer.Unmap().Is4() != family.Unmap().Is4() {
			return fmt.Errorf("%s and %s are of different families: all ends of a tunnel have the same", family, peer)
		}
	}
	return nil
}

func (s Spec) mtuProblem() error {
	if s.MTU == 0 || MinMTU <= s.MTU && s.MTU <= MaxMTU {
		return nil
	}
	return fmt.Errorf("%d is no MTU: %d to %d bytes", s.MTU, MinMTU, MaxMTU)
}

// only returns an error if a setting of vxlan is given for another kind.
func (s Spec) only(said bool, what string) error {
	if !said || s.Kind == VXLAN {
		return nil
	}
	return fmt.Errorf("only a vxlan has %s", what)
}

// endProblem returns an error for an invalid end of a tunnel.
func endProblem(end netip.Addr) error {
	switch {
	case !end.IsValid():
		return errors.New("an address is missing")
	case end.IsUnspecified(), end.IsMulticast(), end.IsLoopback(), end.Zone() != "":
		return fmt.Errorf("%s is no address of one machine", end)
	default:
		return nil
	}
}

// Problems returns the errors of the Spec, and those of the gateways under "gateways".
func (s Segment) Problems() map[string]error {
	problems := s.Spec.Problems()
	if s.Network == "" {
		problems["network"] = errors.New("a network needs an identifier")
	}
	if err := s.gatewaysProblem(); err != nil {
		problems["gateways"] = err
	}
	return problems
}

func (s Segment) gatewaysProblem() error {
	if len(s.Gateways) > 0 && s.Kind != Bridge && s.Kind != VXLAN {
		return fmt.Errorf("%s has no bridge that could have the gateways' addresses", s.Kind)
	}
	for i, gateway := range s.Gateways {
		address := gateway.Addr()
		switch {
		case !gateway.IsValid() || address.IsUnspecified() || address.IsMulticast() || address.Zone() != "":
			return fmt.Errorf("%s is no gateway", gateway)
		case address.Is4In6():
			return fmt.Errorf("%s is of neither family", gateway)
		case address.Is6() && s.MTU != 0 && s.MTU < minMTU6:
			return fmt.Errorf("%s is of IPv6, which needs an MTU of %d bytes", gateway, minMTU6)
		}
		for _, other := range s.Gateways[:i] {
			if gateway.Overlaps(other) {
				return fmt.Errorf("%s and %s are in each other's subnet", other, gateway)
			}
		}
	}
	return nil
}

// NameProblem returns the reason why Linux rejects the name of an interface, or nil.
func NameProblem(name string) error {
	switch {
	case name == "" || len(name) > nameLength:
		return fmt.Errorf("%q is no name of an interface: 1 to %d bytes", name, nameLength)
	case name == "." || name == "..":
		return fmt.Errorf("%q is no name of an interface", name)
	case strings.ContainsAny(name, "/:%") || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return fmt.Errorf("%q is no name of an interface: no spaces, and none of / : %%", name)
	default:
		return nil
	}
}

// MACProblem returns an error if a MAC address is not that of a single interface.
func MACProblem(mac network.HardwareAddr) error {
	if len(mac) != 6 || mac[0]&1 != 0 || bytes.Equal(mac, make([]byte, 6)) {
		return fmt.Errorf("%s is no MAC address of an interface", mac)
	}
	return nil
}

func list[T ~string](of []T) string {
	words := make([]string, len(of))
	for i, word := range of {
		words[i] = string(word)
	}
	return strings.Join(words, ", ")
}
