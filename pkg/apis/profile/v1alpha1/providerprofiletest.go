// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// KindProviderProfileTest is the kind of a ProviderProfileTest.
const KindProviderProfileTest = "ProviderProfileTest"

// ProviderProfileTest says what profiles shall make of control planes: a table of shoots, and cases that expect something of
// their objects. graft test runs it.
type ProviderProfileTest struct {
	// APIVersion is graft.provider.extensions.gardener.cloud/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is ProviderProfileTest.
	Kind string `json:"kind"`
	// Metadata names the table for those who keep it; reports name it by its file.
	Metadata Metadata `json:"metadata,omitempty"`
	// Profiles are the paths of the profiles, seen from this file; the nearest profile.yaml in this folder or one above when absent.
	Profiles []source.Text `json:"profiles,omitempty"`
	// Defaults are the settings of all cases that do not say otherwise.
	Defaults TestSetting `json:"defaults,omitempty"`
	// Shoots are kinds of shoots by name, such as ha: {highAvailability: true}; each case is run for each of them.
	Shoots map[string]TestSetting `json:"shoots,omitempty"`
	// Cases are run one by one, each for all its shoots and versions.
	Cases []TestCase `json:"cases"`
}

// TestCase is what is expected of some shoots.
type TestCase struct {
	TestSetting

	// Name is unique in the table.
	Name source.Text `json:"name"`
	// Description says what the case is for.
	Description string `json:"description,omitempty"`
	// For are the names of the shoots for which the case is run; all when absent.
	For []source.Text `json:"for,omitempty"`
	// Expect says what shall become of objects: by target, by kind and name such as Deployment/acme, or for all others.
	Expect map[string]TestExpectation `json:"expect,omitempty"`
	// Golden also holds the whole difference of all objects against a file in the folder that is called as this file is: diff
	// holds it as one reads it, yaml holds the objects that changed.
	Golden string `json:"golden,omitempty" oneOf:"diff,yaml"`
}

// TestSetting is on what profiles are tried: a shoot, and what else is there. A case says more than its shoot, and a shoot more
// than the defaults; annotations, parameters, shoot, cloudProfile and seed are merged then, other fields replaced, and null
// takes one away.
type TestSetting struct {
	// Kubernetes are versions, such as 1.34.2 or [1.31.14, 1.34.2]; a constraint such as "< 1.34" chooses among those of the
	// defaults. The newest that Gardener's code here knows when absent.
	Kubernetes TestVersions `json:"kubernetes,omitempty"`

	// HighAvailability asks for failure tolerance of type zone.
	HighAvailability bool `json:"highAvailability,omitempty"`
	// IPv6 makes the shoot's networks IPv6 only.
	IPv6 bool `json:"ipv6,omitempty"`
	// Hibernated is a shoot that has finished to hibernate.
	Hibernated bool `json:"hibernated,omitempty"`
	// Workerless is a shoot without nodes.
	Workerless bool `json:"workerless,omitempty"`
	// Garden is the virtual garden instead of a shoot.
	Garden bool `json:"garden,omitempty"`
	// Legacy is a control plane of the older generation of Gardener.
	Legacy bool `json:"legacy,omitempty"`
	// SNI is the feature gate APIServerSNI of the older generation.
	SNI bool `json:"sni,omitempty"`

	// Provider is the type of the shoot's infrastructure; the first provider of the profile when absent.
	Provider string `json:"provider,omitempty"`
	// SeedProvider is that of the seed's infrastructure; the shoot's when absent.
	SeedProvider string `json:"seedProvider,omitempty"`
	// BackupProvider is that of the etcd backups; the seed's when absent.
	BackupProvider string `json:"backupProvider,omitempty"`
	// Annotations are those of the Shoot.
	Annotations map[string]string `json:"annotations,omitempty"`
	// InfrastructureConfig is that of the Shoot.
	InfrastructureConfig source.Node `json:"infrastructureConfig,omitempty"`
	// ControlPlaneConfig is that of the Shoot.
	ControlPlaneConfig source.Node `json:"controlPlaneConfig,omitempty"`
	// WorkerConfig is the provider's configuration of the first worker pool.
	WorkerConfig source.Node `json:"workerConfig,omitempty"`
	// CloudProfileConfig is the provider's configuration in the CloudProfile.
	CloudProfileConfig source.Node `json:"cloudProfileConfig,omitempty"`
	// SeedConfig is the provider's configuration in the Seed.
	SeedConfig source.Node `json:"seedConfig,omitempty"`
	// Shoot is merged into the Shoot that is generated (RFC 7386).
	Shoot source.Node `json:"shoot,omitempty"`
	// CloudProfile is merged into the CloudProfile in the same way.
	CloudProfile source.Node `json:"cloudProfile,omitempty"`
	// Seed is merged into the Seed in the same way.
	Seed source.Node `json:"seed,omitempty"`

	// Parameters are what the installation sets in place of the profile's defaults.
	Parameters map[string]source.Node `json:"parameters,omitempty"`
	// Present are objects that lookups find; what is not among them is missing.
	Present []source.Node `json:"present,omitempty"`
	// Objects are more objects that pass the webhooks, beside those that are generated.
	Objects []source.Node `json:"objects,omitempty"`
	// Edits change objects before they pass the webhooks.
	Edits []TestEdit `json:"edits,omitempty"`
	// Old changes objects into what stands in the seed; these are updated then, and not created.
	Old []TestEdit `json:"old,omitempty"`
}

// TestEdit changes objects of a test.
type TestEdit struct {
	// Of says which objects: a target, or kind and name such as Deployment/acme.
	Of source.Text `json:"of"`
	// Purposes are those of the OperatingSystemConfigs that are meant by kubelet and node; reconcile when absent.
	Purposes []string `json:"purposes,omitempty"`
	// Patch is an RFC 6902 patch.
	Patch []source.Node `json:"patch,omitempty"`
	// Replace changes texts of units and files.
	Replace []TestReplacement `json:"replace,omitempty"`
}

// TestReplacement puts one text into the place of another, which must be there, in a unit or a file.
type TestReplacement struct {
	// Unit is the name of the unit.
	Unit string `json:"unit,omitempty"`
	// File is the path of the file.
	File string `json:"file,omitempty"`
	// Old is what stands there.
	Old string `json:"old"`
	// New is what shall stand there.
	New string `json:"new"`
}

// TestVersions are versions of Kubernetes: one, or a list.
type TestVersions []source.Text

// DecodeNode reads a version or a list of them.
func (v *TestVersions) DecodeNode(n source.Node, path string) source.Findings {
	if n.Absent() || n.Items() != nil {
		var list []source.Text
		findings := source.Decode(n, path, &list)
		*v = list
		return findings
	}
	var one source.Text
	findings := source.Decode(n, path, &one)
	*v = TestVersions{one}
	return findings
}

// TestFolder is the file case.yaml of a case that is a folder; all of it may be missing.
type TestFolder struct {
	TestSetting

	// Description says what the case is for.
	Description string `json:"description,omitempty"`
	// Profiles are the paths of the profiles, seen from the folder; the nearest profile.yaml in it or above it when absent.
	Profiles []source.Text `json:"profiles,omitempty"`
	// Expect says what shall become of objects, as in tables.
	Expect map[string]TestExpectation `json:"expect,omitempty"`
}
