// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package network

// Exhausted is the error of a pool that has nothing left. It is ErrExhausted.
type Exhausted struct {
	Pool string
	Of   Kind
	// Text says what is missing, for people.
	Text string
}

// Kind says of what a pool has nothing left.
type Kind string

// The kinds: addresses of a family, VLANs at a trunk, and whatever a cloud chooses.
const (
	OfIPv4  Kind = "ipv4"
	OfIPv6  Kind = "ipv6"
	OfVLAN  Kind = "vlan"
	OfCloud Kind = "cloud"
)

// OfFamily is the kind of addresses of so many bits.
func OfFamily(bits int) Kind {
	if bits == 32 {
		return OfIPv4
	}
	return OfIPv6
}

// Error implements error.
func (e *Exhausted) Error() string { return ErrExhausted.Error() + ": " + e.Text }

// Is says that it is ErrExhausted.
func (e *Exhausted) Is(target error) bool { return target == ErrExhausted }
