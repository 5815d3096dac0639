// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

// Parts say what is named of a Cluster beside the members of a Shoot that are decoded at once, so that a Source need not keep the rest.
type Parts struct {
	// Manifest is the whole Shoot.
	Manifest           bool
	Seed, CloudProfile bool
}

// AllParts names everything.
func AllParts() Parts { return Parts{Manifest: true, Seed: true, CloudProfile: true} }

// Cover says whether the others are among these.
func (p Parts) Cover(others Parts) bool {
	return (p.Manifest || !others.Manifest) && (p.Seed || !others.Seed) && (p.CloudProfile || !others.CloudProfile)
}

// Join names what either names.
func (p Parts) Join(others Parts) Parts {
	return Parts{
		Manifest: p.Manifest || others.Manifest, Seed: p.Seed || others.Seed, CloudProfile: p.CloudProfile || others.CloudProfile,
	}
}

// InManifest says whether it takes the whole Shoot to tell a member of a variable; without a name, all members.
func InManifest(variable, member string) bool {
	switch variable {
	case "pool":
		_, whole := wholeOfWorker[member]
		return member == "" || whole
	case "shoot":
	default:
		return false
	}
	switch member {
	case "name", "namespace", "uid", "labels", "annotations", "kubernetes", "region", "provider", "cloudProfile", "networking",
		"hibernated", "workerless", "highAvailability", "purpose", "technicalID":
		return false
	default: // workers have members of wholeOfWorker
		return true
	}
}
