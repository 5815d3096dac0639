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

// identity is by what a device is known, in one way of writing. The PCI address says more than the name, and the name more than the MAC address.
type identity struct{ pci, name, mac string }

// The kinds of identity, the strongest first.
const (
	kindPCI  = "pci"
	kindName = "name"
	kindMAC  = "mac"
	// kindAs is no identity: what the interface is called in the Pod.
	kindAs = "as"
)

var kinds = []string{kindPCI, kindName, kindMAC}

func (i identity) of(kind string) string {
	return map[string]string{kindPCI: i.pci, kindName: i.name, kindMAC: i.mac}[kind]
}

// aliases are all of the identity, each with its kind.
func (i identity) aliases() []string {
	var all []string
	for _, kind := range kinds {
		if value := i.of(kind); value != "" {
			all = append(all, kind+"/"+value)
		}
	}
	return all
}

// strongest is the part of the identity that says most.
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

// identify reads the identity of a device. A name that DRANET has made of a PCI address or of the name of an interface is taken for that, so that it
// is the same device whichever of the two a version of DRANET sends.
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

// canonical is a device with its PCI and MAC addresses in one way of writing; the name stays.
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
