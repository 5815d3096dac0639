// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet

import (
	"bytes"
	"cmp"
	"encoding/base32"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// union returns a list with new elements appended, and leaves the original unchanged.
func union(list, more []string) []string {
	all := slices.Clone(list)
	for _, item := range more {
		if !slices.Contains(all, item) {
			all = append(all, item)
		}
	}
	return all
}

// hasName reports whether an allocation has a name of the kind.
func hasName(c network.Allocation, kind, value string) bool {
	return value != "" && slices.Contains(c.Holder.Aliases, kind+"/"+value)
}

// hasOtherName reports whether an allocation has names of the kind, but not this one.
func hasOtherName(c network.Allocation, kind, value string) bool {
	isKind := func(alias string) bool { return strings.HasPrefix(alias, kind+"/") }
	return value != "" && !hasName(c, kind, value) && slices.ContainsFunc(c.Holder.Aliases, isKind)
}

// hasAddress reports whether an allocation has one of the addresses.
func hasAddress(c network.Allocation, wanted []netip.Addr) bool {
	return slices.ContainsFunc(c.Addresses, func(a netip.Addr) bool { return slices.Contains(wanted, a) })
}

// search has the data of a request that identifies the allocation of a device.
type search struct {
	who identity
	// as is the requested name of the interface in the Pod; empty means its name on the machine.
	as string
	// addresses are the addresses of the configuration.
	addresses []netip.Addr
	// single reports that the claim has one device only, so that another name belongs to the same device.
	single bool
}

// aliases returns all names of the device in the request.
func (s search) aliases() []string {
	all := s.who.aliases()
	if s.as != "" {
		all = append(all, kindAs+"/"+s.as)
	}
	return all
}

// isRenamed reports whether a device with another name is the same: it is the only one of the claim, or has the same name
// in the Pod, where names are unique.
func (s search) isRenamed(c network.Allocation) bool { return s.single || hasName(c, kindAs, s.as) }

// isOther reports whether an allocation belongs to another device according to its names of kinds that are stronger
// than kind.
func (s search) isOther(c network.Allocation, kind string) bool {
	for _, stronger := range kinds {
		if stronger == kind {
			break
		}
		if stronger != kindPCI && s.isRenamed(c) {
			continue
		}
		if hasOtherName(c, stronger, s.who[stronger]) {
			return true
		}
	}
	return false
}

// allocated returns the existing allocation of the device, or nil. It compares the PCI address, the name, the MAC
// address and the requested addresses, in this order. An allocation with another PCI address, or else with another
// name, belongs to another device. It fails if several allocations match.
func (s search) allocated(among []network.Allocation) (*network.Allocation, error) {
	found, several := s.narrow(among, func(c network.Allocation, kind string) bool { return !s.isOther(c, kind) })
	switch {
	case len(found) == 1:
		return &found[0], nil
	case len(found) > 1, several:
		return nil, badRequest("the claim has several devices that the request can mean: send the PCI address or the name of the device")
	case s.single && len(among) == 1 && !hasOtherName(among[0], kindPCI, s.who[kindPCI]):
		return &among[0], nil
	}
	return nil, nil
}

// released returns the allocations that a release means. The device may be incomplete: its interface may have another
// name in the Pod. So another name excludes an allocation only if the configuration lists other addresses. Without any
// name, the addresses of the configuration identify the device.
func (s search) released(among []network.Allocation) []network.Allocation {
	left := keep(among, func(c network.Allocation) bool { return !hasOtherName(c, kindPCI, s.who[kindPCI]) })
	found, _ := s.narrow(left, func(c network.Allocation, kind string) bool {
		renamed := kind == kindMAC && hasOtherName(c, kindName, s.who[kindName])
		return !renamed || len(s.addresses) == 0 || hasAddress(c, s.addresses)
	})
	return found
}

// narrow returns the allocation that alone has a name of the device; the strongest kind of name with such an allocation
// decides. Otherwise it returns the allocations with one of the addresses: among those that share a name of the device,
// if there are any, which several reports, or else among all. An allocation counts for the names of a kind, or for the
// addresses (kind is ""), only if permit returns true.
func (s search) narrow(
	left []network.Allocation, permit func(c network.Allocation, kind string) bool,
) (found []network.Allocation, several bool) {
	for _, kind := range kinds {
		found := keep(left, func(c network.Allocation) bool { return hasName(c, kind, s.who[kind]) && permit(c, kind) })
		if len(found) == 1 {
			return found, false
		}
		if len(found) > 1 {
			left, several = found, true
		}
	}
	return keep(left, func(c network.Allocation) bool { return hasAddress(c, s.addresses) && permit(c, "") }), several
}

func keep(among []network.Allocation, when func(network.Allocation) bool) []network.Allocation {
	return slices.DeleteFunc(slices.Clone(among), func(a network.Allocation) bool { return !when(a) })
}

// key returns the key of the owner for a new allocation of a claim, from the strongest name of the device. It stays the
// same when further names become known.
func (s search) key(claim string) (string, error) {
	if names := s.who.aliases(); len(names) > 0 {
		return claim + "/" + names[0], nil
	}
	switch {
	case len(s.addresses) > 0:
		return claim + "/address/" + s.addresses[0].String(), nil
	case s.single:
		return claim + "/device", nil
	}
	return "", badRequest("the device has neither a PCI address nor a name nor a MAC address: it cannot be distinguished from other devices of the claim")
}

// identity holds the canonical names of a device by kind. The PCI address is the strongest, then the
// name, then the MAC address.
type identity map[string]string

// The kinds of identity, the strongest first.
const (
	kindPCI  = "pci"
	kindName = "name"
	kindMAC  = "mac"
	// kindAs is not an identity but the name of the interface in the Pod.
	kindAs = "as"
)

var kinds = []string{kindPCI, kindName, kindMAC}

// aliases returns all names of the identity, each with its kind, the strongest first.
func (i identity) aliases() []string {
	var all []string
	for _, kind := range kinds {
		if value := i[kind]; value != "" {
			all = append(all, kind+"/"+value)
		}
	}
	return all
}

var (
	// pciAddress matches a PCI address as the kernel writes it. People may omit the domain.
	pciAddress = regexp.MustCompile(`^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$`)
	// pciName matches DRANET's name of a device with a PCI address (pkg/names).
	pciName = regexp.MustCompile(`^pci-([0-9a-f]{4,8})-([0-9a-f]{2})-([0-9a-f]{2})-([0-7])$`)
)

// identify returns the identity of a device. It converts names that DRANET derives from a PCI address or an interface's
// name, so that the identity is the same for all versions of DRANET.
func identify(d device.Device) identity {
	pci, name := readPCI(d.PCI), strings.TrimSpace(d.Name)
	if parts := pciName.FindStringSubmatch(strings.ToLower(name)); parts != nil {
		pci, name = cmp.Or(pci, parts[1]+":"+parts[2]+":"+parts[3]+"."+parts[4]), ""
	}
	return identity{kindPCI: pci, kindName: readName(name), kindMAC: readMAC(d.MAC)}
}

// canonical returns a device with canonical PCI and MAC addresses; the name stays.
func canonical(d device.Device) device.Device {
	i := identify(d)
	return device.Device{Name: d.Name, PCI: i[kindPCI], MAC: i[kindMAC]}
}

func readPCI(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	if parts := pciAddress.FindStringSubmatch(text); len(parts) > 1 && parts[1] == "" {
		return "0000:" + text
	}
	return text
}

// readMAC returns the canonical form of a MAC address. It ignores zeros, the address of interfaces without one.
func readMAC(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	mac, err := net.ParseMAC(text)
	if err != nil {
		return text
	}
	if bytes.Count(mac, []byte{0}) == len(mac) {
		return ""
	}
	return mac.String()
}

// encodedName is the prefix of the name that DRANET derives from an interface name that is not a DNS label (pkg/names).
const encodedName = "net-"

func readName(name string) string {
	encoded, ok := strings.CutPrefix(name, encodedName)
	if !ok {
		return name
	}
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(encoded))
	if err != nil || len(raw) == 0 || len(raw) > 15 || !isName(string(raw)) || len(validation.IsDNS1123Label(string(raw))) == 0 {
		return name
	}
	return string(raw)
}
