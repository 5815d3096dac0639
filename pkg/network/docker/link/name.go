// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// nameLength is the longest name that Linux lets an interface have (IFNAMSIZ, without the zero at its end).
const nameLength = 15

// MaxIdentifier is how long an identifier of a network or an endpoint can be, in bytes: an alias has two of them and 255 bytes (IFALIASZ), and an
// alternative name one and 127 (ALTIFNAMSIZ). Docker's have 64.
const MaxIdentifier = 64

// identifierLength is how much of an identifier is in a name: 48 bits where it is hexadecimal.
const identifierLength = 12

// InterfaceName is the name of an endpoint's interface until it moves into a sandbox.
func InterfaceName(endpoint string) string { return "gv" + short(endpoint) }

// PortName returns the name of the end of an endpoint's veth pair that is a port of the network's bridge.
func PortName(endpoint string) string { return "gh" + short(endpoint) }

// bridgeName is the name of the bridge of a network.
func bridgeName(network string) string { return "gb" + short(network) }

// tunnelName is the name of the vxlan device of a network.
func tunnelName(network string) string { return "gx" + short(network) }

// subName is what people call a VLAN of a parent, where a name of that length can be had.
func subName(parent string, vlan uint16) string {
	if name := parent + "." + strconv.Itoa(int(vlan)); len(name) <= nameLength {
		return name
	}
	return subOwnName(parent, vlan)
}

// subOwnName is the name that a VLAN of a parent is made under, which nobody else gives.
func subOwnName(parent string, vlan uint16) string {
	return fmt.Sprintf("gl%d%s", vlan, digest(parent)[:8])
}

// short is the beginning of an identifier, or of its digest where that would be no name.
func short(identifier string) string {
	if len(identifier) < identifierLength || strings.Trim(identifier[:identifierLength], "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return digest(identifier)[:identifierLength]
	}
	return identifier[:identifierLength]
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// mark is what a link says of whom it is for, in its alias.
type mark struct {
	network, endpoint string
	// parent and vlan are set on sub-interfaces of parents only, which belong to no network alone.
	parent string
	vlan   uint16
}

const (
	markPrefix = "graft/"
	// userPrefix begins the alternative names of a sub-interface of a parent: one for each network that uses it.
	userPrefix = "graft-"
)

// String is the alias.
func (m mark) String() string {
	switch {
	case m.parent != "":
		return markPrefix + "parent/" + m.parent + "/" + strconv.Itoa(int(m.vlan))
	case m.endpoint != "":
		return markPrefix + m.network + "/" + m.endpoint
	default:
		return markPrefix + m.network
	}
}

// parseMark reads what String writes; ok is false for what is none of ours.
func parseMark(alias string) (m mark, ok bool) {
	rest, ok := strings.CutPrefix(alias, markPrefix)
	if !ok || rest == "" {
		return mark{}, false
	}
	parts := strings.Split(rest, "/")
	switch {
	case len(parts) == 3 && parts[0] == "parent":
		vlan, err := strconv.ParseUint(parts[2], 10, 16)
		return mark{parent: parts[1], vlan: uint16(vlan)}, err == nil && parts[1] != ""
	case len(parts) == 2 && parts[0] != "" && parts[1] != "":
		return mark{network: parts[0], endpoint: parts[1]}, true
	case len(parts) == 1:
		return mark{network: parts[0]}, true
	default:
		return mark{}, false
	}
}
