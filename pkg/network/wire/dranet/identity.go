// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet

import (
	"encoding/base32"
	"net"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// identity holds the canonical names of a device. The PCI address is the strongest, then the name, then the MAC
// address.
type identity struct{ pci, name, mac string }

// The kinds of identity, the strongest first.
const (
	kindPCI  = "pci"
	kindName = "name"
	kindMAC  = "mac"
	// kindAs is not an identity but the name of the interface in the Pod.
	kindAs = "as"
)

var kinds = []string{kindPCI, kindName, kindMAC}

func (i identity) of(kind string) string {
	return map[string]string{kindPCI: i.pci, kindName: i.name, kindMAC: i.mac}[kind]
}

// aliases returns all names of the identity, each with its kind.
func (i identity) aliases() []string {
	var all []string
	for _, kind := range kinds {
		if value := i.of(kind); value != "" {
			all = append(all, kind+"/"+value)
		}
	}
	return all
}

// strongest returns the strongest name of the identity.
func (i identity) strongest() string {
	for _, kind := range kinds {
		if value := i.of(kind); value != "" {
			return value
		}
	}
	return ""
}

var (
	// pciAddress is one as the kernel writes it; the domain may be left out by people.
	pciAddress = regexp.MustCompile(`^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$`)
	// pciName is how DRANET calls a device that has a PCI address (pkg/names).
	pciName = regexp.MustCompile(`^pci-([0-9a-f]{4,8})-([0-9a-f]{2})-([0-9a-f]{2})-([0-7])$`)
)

// identify returns the identity of a device. It converts names that DRANET derives from a PCI address or an interface's
// name, so that the identity is the same for all versions of DRANET.
func identify(d device.Device) identity {
	i := identity{pci: readPCI(d.PCI), name: strings.TrimSpace(d.Name), mac: readMAC(d.MAC)}
	if parts := pciName.FindStringSubmatch(strings.ToLower(i.name)); parts != nil {
		if i.pci == "" {
			i.pci = parts[1] + ":" + parts[2] + ":" + parts[3] + "." + parts[4]
		}
		i.name = ""
	}
	i.name = readName(i.name)
	return i
}

// canonical returns a device with canonical PCI and MAC addresses; the name stays.
func canonical(d device.Device) device.Device {
	i := identify(d)
	return device.Device{Name: d.Name, PCI: i.pci, MAC: i.mac}
}

func readPCI(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	if parts := pciAddress.FindStringSubmatch(text); len(parts) > 1 && parts[1] == "" {
		return "0000:" + text
	}
	return text
}

// readMAC writes a MAC address in one way. That of zeros, which interfaces have that were given none, tells nothing apart.
func readMAC(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	mac, err := net.ParseMAC(text)
	if err != nil {
		return text
	}
	for _, b := range mac {
		if b != 0 {
			return mac.String()
		}
	}
	return ""
}

// encodedName begins the name of a device that DRANET has made of the name of an interface that is no label of DNS (pkg/names).
const encodedName = "net-"

func readName(name string) string {
	encoded, ok := strings.CutPrefix(name, encodedName)
	if !ok {
		return name
	}
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(encoded))
	if err != nil || len(raw) == 0 || len(raw) > 15 || !plain(string(raw)) || len(validation.IsDNS1123Label(string(raw))) == 0 {
		return name
	}
	return string(raw)
}
