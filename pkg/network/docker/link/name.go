// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// nameLength is the maximum length of an interface's name (IFNAMSIZ without the terminating zero).
const nameLength = 15

// MaxIdentifier limits identifiers of networks and endpoints, in bytes: an alias contains two (IFALIASZ, 255
// bytes). Docker's have 64.
const MaxIdentifier = 64

// identifierLength is the number of an identifier's characters in a name: 48 bits in hexadecimal.
const identifierLength = 12

// InterfaceName returns the name of an endpoint's interface until it moves into a sandbox.
func InterfaceName(endpoint string) string { return "gv" + short(endpoint) }

// PortName returns the name of the end of an endpoint's veth pair that is a port of the network's bridge.
func PortName(endpoint string) string { return "gh" + short(endpoint) }

// bridgeName returns the name of a network's bridge.
func bridgeName(network string) string { return "gb" + short(network) }

// tunnelName returns the name of a network's vxlan device.
func tunnelName(network string) string { return "gx" + short(network) }

// subName returns the usual name of a parent's VLAN, or a shorter one if that is too long.
func subName(parent string, vlan int) string {
	if name := parent + "." + strconv.Itoa(vlan); len(name) <= nameLength {
		return name
	}
	return subOwnName(parent, vlan)
}

// subOwnName returns the name under which a parent's VLAN is created. No other program uses it.
func subOwnName(parent string, vlan int) string {
	return fmt.Sprintf("gl%d%s", vlan, digest(parent)[:8])
}

// short returns the start of an identifier, or of its digest if that is no valid name.
func short(identifier string) string {
	if len(identifier) < identifierLength || strings.Trim(identifier[:identifierLength],
		"0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return digest(identifier)[:identifierLength]
	}
	return identifier[:identifierLength]
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Mark identifies the user of a link. It is stored as the link's alias.
type Mark struct {
	// Network and Endpoint are the identifiers of the user. The links of a network itself have no endpoint.
	Network, Endpoint string
	// Parent and VLAN are set instead on VLANs of parents, which several networks can use.
	Parent string
	VLAN   int
}

const markPrefix = "graft/"

// String returns the alias.
func (m Mark) String() string {
	switch {
	case m.Parent != "":
		return markPrefix + "parent/" + m.Parent + "/" + strconv.Itoa(m.VLAN)
	case m.Endpoint != "":
		return markPrefix + m.Network + "/" + m.Endpoint
	default:
		return markPrefix + m.Network
	}
}

// parseMark parses an alias. ok is false if it is not ours.
func parseMark(alias string) (m Mark, ok bool) {
	rest, ok := strings.CutPrefix(alias, markPrefix)
	parts := strings.Split(rest, "/")
	if !ok || slices.Contains(parts, "") {
		return Mark{}, false
	}
	switch {
	case len(parts) == 3 && parts[0] == "parent":
		vlan, err := strconv.Atoi(parts[2])
		return Mark{Parent: parts[1], VLAN: vlan}, err == nil
	case len(parts) == 2:
		return Mark{Network: parts[0], Endpoint: parts[1]}, true
	case len(parts) == 1:
		return Mark{Network: parts[0]}, true
	default:
		return Mark{}, false
	}
}
