// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package operation contains the operations that a rule can apply to an object: one file per operation, and the
// registry that lists them.
//
// An operation parses its arguments once, when a profile is loaded, and returns Writes. Each names one place in the
// object (a flag of a container, a label, a volume), its value, and how to write it. The engine makes all decisions
// (conflicts, overridden writes, violations of the contract) from places and values, so that operations need not
// consider them. Operations must not read anything except the object and must not depend on conditions. Start reading
// at All.
package operation
