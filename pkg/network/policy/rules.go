// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// The rules of NetworkProfiles, beside those of all documents.
const (
	// UnknownReference is the name of a pool, a cloud or a profile that does not exist.
	UnknownReference source.Rule = "unknown-reference"
	// Overlap are pools of which the addresses are not told apart.
	Overlap source.Rule = "overlapping-pools"
	// Outside is an address, or a range of them, that is not in the prefix.
	Outside source.Rule = "outside-prefix"
	// NoRoom is a pool that has too few addresses, or too few MAC addresses for them.
	NoRoom source.Rule = "no-room"
	// ForeignMAC is a MAC prefix that belongs to a maker of hardware.
	ForeignMAC source.Rule = "foreign-mac"
	// NotForDocker is what a profile with a link sets and Docker has no place for.
	NotForDocker source.Rule = "not-for-docker"
)
