// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// KindProviderProfileTest is the kind of a ProviderProfileTest.
const KindProviderProfileTest = "ProviderProfileTest"

// ProviderProfileTest tests profiles: a table of shoots, and cases with expectations about their control planes. graft test
// runs it.
type ProviderProfileTest struct {
	// APIVersion is graft.provider.extensions.gardener.cloud/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is ProviderProfileTest.
	Kind string `json:"kind"`
	// Metadata names the table for its authors; reports name it by its file.
	Metadata Metadata `json:"metadata,omitempty"`
	// Profiles are the profiles, relative to this file; by default the nearest profile.yaml in this folder or above.
	Profiles []source.Text `json:"profiles,omitempty"`
	// Defaults are the default settings of all cases.
	Defaults TestSetting `json:"defaults,omitempty"`
	// Shoots are kinds of shoots by name, such as ha: {highAvailability: true}; each case runs for all of them.
	Shoots map[string]TestSetting `json:"shoots,omitempty"`
	// Cases are the cases; each runs for all its shoots and versions.
	Cases []TestCase `json:"cases"`
}

// TestCase has expectations about the control planes of some shoots.
type TestCase struct {
	TestSetting

	// Name is unique in the table.
	Name source.Text `json:"name"`
	// Description describes the case.
	Description string `json:"description,omitempty"`
	// For are the shoots of the case; all by default.
	For []source.Text `json:"for,omitempty"`
	// Expect lists expectations: by target, by kind and name such as Deployment/acme, or "others" for all remaining objects.
	Expect map[string]TestExpectation `json:"expect,omitempty"`
	// Golden compares all objects with a golden file named like this file, which stores their differences.
	Golden string `json:"golden,omitempty" oneOf:"diff"`
}

// TestSetting describes a shoot and the objects around it. The fields of a case take precedence over those of its shoot, and
// these over the defaults. Annotations, parameters, shoot, cloudProfile and seed are merged; other fields are replaced; null
// removes a field.
type TestSetting struct {
	// Kubernetes are versions, such as 1.34.2 or [1.31.14, 1.34.2]; a constraint such as "< 1.34" selects from the
	// defaults. By default the newest one.
	Kubernetes TestVersions `json:"kubernetes,omitempty"`

	// HighAvailability requests failure tolerance of type zone.
	HighAvailability bool `json:"highAvailability,omitempty"`
	// IPv6 makes the shoot's networks IPv6 only.
	IPv6 bool `json:"ipv6,omitempty"`
	// Hibernated is a hibernated shoot.
	Hibernated bool `json:"hibernated,omitempty"`
	// Workerless is a shoot without nodes.
	Workerless bool `json:"workerless,omitempty"`
	// Garden is the virtual garden instead of a shoot.
	Garden bool `json:"garden,omitempty"`
	// Legacy is a control plane of the older generation of Gardener.
	Legacy bool `json:"legacy,omitempty"`
	// SNI is the feature gate APIServerSNI of the older generation.
	SNI bool `json:"sni,omitempty"`

	// Provider is the type of the shoot's infrastructure; by default the first provider of the profile.
	Provider string `json:"provider,omitempty"`
	// SeedProvider is the type of the seed's infrastructure; by default the shoot's.
	SeedProvider string `json:"seedProvider,omitempty"`
	// BackupProvider is the type of the etcd backups; by default the seed's.
	BackupProvider string `json:"backupProvider,omitempty"`
	// Annotations are annotations of the Shoot.
	Annotations map[string]string `json:"annotations,omitempty"`
	// InfrastructureConfig is the InfrastructureConfig of the Shoot.
	InfrastructureConfig map[string]source.Node `json:"infrastructureConfig,omitempty"`
	// ControlPlaneConfig is the ControlPlaneConfig of the Shoot.
	ControlPlaneConfig map[string]source.Node `json:"controlPlaneConfig,omitempty"`
	// WorkerConfig is the provider's configuration of the first worker pool.
	WorkerConfig map[string]source.Node `json:"workerConfig,omitempty"`
	// CloudProfileConfig is the provider's configuration in the CloudProfile.
	CloudProfileConfig map[string]source.Node `json:"cloudProfileConfig,omitempty"`
	// SeedConfig is the provider's configuration in the Seed.
	SeedConfig map[string]source.Node `json:"seedConfig,omitempty"`
	// Shoot is merged into the generated Shoot (RFC 7386).
	Shoot map[string]source.Node `json:"shoot,omitempty"`
	// CloudProfile is merged into the CloudProfile in the same way.
	CloudProfile map[string]source.Node `json:"cloudProfile,omitempty"`
	// Seed is merged into the Seed in the same way.
	Seed map[string]source.Node `json:"seed,omitempty"`

	// Parameters are parameters of the installation.
	Parameters map[string]source.Node `json:"parameters,omitempty"`
	// Present lists the objects for lookups. All other objects are missing.
	Present []source.Node `json:"present,omitempty"`
	// Manifests are files and folders, relative to this file, with a control plane instead of the generated one: the
	// Cluster or the Shoot, and the objects for the webhooks. Without objects, they are generated for this shoot.
	Manifests []source.Text `json:"manifests,omitempty"`
	// Objects are additional objects for the webhooks.
	Objects []source.Node `json:"objects,omitempty"`
	// Edits change objects before the admission.
	Edits []TestEdit `json:"edits,omitempty"`
	// Old edits the existing objects; they are then updated instead of created.
	Old []TestEdit `json:"old,omitempty"`
}

// TestEdit changes objects of a test.
type TestEdit struct {
	// Of selects objects: a target, or kind and name such as Deployment/acme.
	Of source.Text `json:"of"`
	// Purposes select the OperatingSystemConfigs of kubelet and node; reconcile by default.
	Purposes []string `json:"purposes,omitempty"`
	// Patch is an RFC 6902 patch.
	Patch []source.Node `json:"patch,omitempty"`
}

// TestVersions are versions of Kubernetes: one, or a list.
type TestVersions []source.Text

// DecodeNode decodes a version or a list of versions.
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
