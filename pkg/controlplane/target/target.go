// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package target defines the objects that Gardener's contract lets a provider mutate, their names in profiles, and the
// places of containers, metadata and storage in them. It does not know rules and must not read clusters. Start reading
// at Lookup, Match and Object.
package target

import (
	"hash/maphash"
	"slices"
	"strings"
)

// Set is one of the three sets of control-plane webhooks.
type Set string

// The sets, by the provider label of the namespaces in which they act (gardener:
// docs/extensions/controlplane-webhooks.md and extensions/pkg/webhook/controlplane/controlplane.go).
const (
	// ControlPlane acts for the cloud of the shoot.
	ControlPlane Set = "controlplane"
	// Exposure acts for the cloud of the seed; Gardener's own extensions call it seedprovider today.
	Exposure Set = "controlplaneexposure"
	// Backup acts for the cloud that holds the etcd backups.
	Backup Set = "controlplanebackup"
)

// Sets returns all sets in the order of their rules' application to the same object.
func Sets() []Set { return []Set{ControlPlane, Exposure, Backup} }

// NamespaceLabel returns the label with which gardenlet names the provider on the namespace of a shoot (gardener:
// pkg/gardenlet/operation/botanist/namespaces.go).
func (s Set) NamespaceLabel() string {
	switch s {
	case Exposure:
		return "seed.gardener.cloud/provider"
	case Backup:
		return "backup.gardener.cloud/provider"
	default:
		return "shoot.gardener.cloud/provider"
	}
}

// GardenNamespace is the namespace of the control plane of a virtual garden, managed by gardener-operator. It has no
// Cluster resource and no provider label.
const GardenNamespace = "garden"

// ReferencePrefix begins the annotations that keep Gardener's garbage collector from deleting a Secret or ConfigMap that a
// workload still uses (gardener: pkg/resourcemanager/controller/garbagecollector/references).
const ReferencePrefix = "reference.resources.gardener.cloud/"

// Part is a part of an object that operations write; a Form has one or several of them.
type Part uint16

// The parts of objects.
const (
	// Metadata is labels and annotations of the object itself.
	Metadata Part = 1 << iota
	// PodTemplate is the pod template with its metadata, volumes and containers.
	PodTemplate
	// Storage is the class and the capacity of an etcd's volumes.
	Storage
	// CommandLine is a command line of flags: a container's, or the ExecStart of a unit.
	CommandLine
	// KubeletConfiguration is the kubelet's configuration file, which an OperatingSystemConfig holds as text.
	KubeletConfiguration
	// Units is the list of systemd units of an OperatingSystemConfig.
	Units
	// Files is the list of files of an OperatingSystemConfig.
	Files
	// ProviderSidecar is the provider's addition to the machine-controller-manager: its container, or the policy for
	// it.
	ProviderSidecar
)

// Form is a kind of object as which a target is found; one target may have had several in the history of Gardener.
type Form struct {
	Group, Version, Kind, Resource string
	// Name is the name of the object; empty means any name. For an Other target, a name that ends in * is a prefix.
	Name string
	// Parts are the parts that objects of this form have.
	Parts Part
	// Older reports that only the older generation of Gardener has objects of this form.
	Older bool
}

// Has reports whether objects of the form have all the given parts.
func (f Form) Has(parts Part) bool { return f.Parts&parts == parts }

// String writes the form as kind and name.
func (f Form) String() string { return strings.TrimSuffix(f.Kind+" "+f.Name, " ") }

// Is reports whether the form includes objects of a group, kind and name.
func (f Form) Is(group, kind, name string) bool {
	return f.Group == group && f.Kind == kind && (f.Name == name || f.Name == "")
}

// Target is one object of the contract under the name that profiles use.
type Target struct {
	// Name is the key of the target in a profile.
	Name string
	// Summary describes the object in one line.
	Summary string
	// Container is the container that the contract requires in the pod template, or "" if there is no pod.
	Container string
	// Component is the name under which the contract lists reserved flags; it is the same for the virtual garden.
	Component string
	// Garden reports that the object is the virtual garden's, in the garden namespace.
	Garden bool
	// Other reports that the contract does not name the object, and requires no container in it.
	Other bool
	// Forms are the kinds of object as which the target is found.
	Forms []Form
	// Versioned reports that the tag of the container's image is the version of Kubernetes.
	Versioned bool
	// Purposed reports that the target is found in objects of several purposes, among which a rule chooses.
	Purposed bool
}

// Subject returns the name of the object in metrics and results. Several targets can be parts of one
// OperatingSystemConfig.
func (t *Target) Subject() string {
	if t.Purposed {
		return "operatingsystemconfig"
	}
	return t.Name
}

// Has reports whether any form of the target has all the given parts.
func (t *Target) Has(parts Part) bool {
	return slices.ContainsFunc(t.Forms, func(f Form) bool { return f.Has(parts) })
}

// HasToday reports whether any form of current Gardener versions has all the given parts.
func (t *Target) HasToday(parts Part) bool {
	return slices.ContainsFunc(t.Forms, func(f Form) bool { return !f.Older && f.Has(parts) })
}

// Compare orders forms by group, kind and name.
func Compare(a, b Form) int {
	return strings.Compare(a.Group+"/"+a.Kind+"/"+a.Name, b.Group+"/"+b.Kind+"/"+b.Name)
}

// cacheSeeds are random and secret: a client cannot find contents whose keys collide.
var cacheSeeds = [...]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// CacheKey returns the key of contents in a cache in memory: two hashes of them and of their lengths, which take a
// tenth of the time of SHA-256.
func CacheKey(contents ...[]byte) (key [len(cacheSeeds)]uint64) {
	for i, seed := range cacheSeeds {
		var hash maphash.Hash
		hash.SetSeed(seed)
		for _, content := range contents {
			maphash.WriteComparable(&hash, len(content))
			_, _ = hash.Write(content) // never fails
		}
		key[i] = hash.Sum64()
	}
	return key
}
