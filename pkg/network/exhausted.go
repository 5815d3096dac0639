// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package network

// Exhausted is the error of a pool that has nothing left. It is ErrExhausted.
type Exhausted struct {
	Pool string
	Of   Kind
	// Text describes the missing resource for users.
	Text string
}

// Kind is the kind of an exhausted resource.
type Kind string

// The kinds: addresses of a family, VLANs of a trunk, and resources selected by a cloud.
const (
	OfIPv4  Kind = "ipv4"
	OfIPv6  Kind = "ipv6"
	OfVLAN  Kind = "vlan"
	OfCloud Kind = "cloud"
)

// OfFamily returns the kind of addresses with this number of bits.
func OfFamily(bits int) Kind {
	if bits == 32 {
		return OfIPv4
	}
	return OfIPv6
}

// Error implements error.
func (e *Exhausted) Error() string { return ErrExhausted.Error() + ": " + e.Text }

// Is reports whether target is ErrExhausted.
func (e *Exhausted) Is(target error) bool { return target == ErrExhausted }
