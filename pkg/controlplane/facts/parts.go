// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

// Parts say which parts of a Cluster are named beside the shoot, so that a Source need not keep the others.
type Parts struct{ Seed, CloudProfile bool }

// AllParts names everything.
func AllParts() Parts { return Parts{Seed: true, CloudProfile: true} }

// Cover says whether the others are among these.
func (p Parts) Cover(others Parts) bool {
	return (p.Seed || !others.Seed) && (p.CloudProfile || !others.CloudProfile)
}
