// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Options describes a control plane to generate; graft-controlplane reads it as one JSON object per line. The zero
// value is a complete control plane of the latest supported version.
type Options struct {
	// Kubernetes is the version of the shoot, such as 1.34.2.
	Kubernetes string `json:"kubernetes,omitempty"`
	// HighAvailability asks for failure tolerance of type zone; IPv6 for IPv6-only networks; Hibernated and Workerless speak
	// for themselves.
	HighAvailability bool `json:"highAvailability,omitempty"`
	IPv6             bool `json:"ipv6,omitempty"`
	Hibernated       bool `json:"hibernated,omitempty"`
	Workerless       bool `json:"workerless,omitempty"`
	// Garden asks for the virtual garden that gardener-operator writes, and Legacy for a control plane of the older generation,
	// as the text of the contract describes it; SNI is its feature gate APIServerSNI.
	Garden bool `json:"garden,omitempty"`
	Legacy bool `json:"legacy,omitempty"`
	SNI    bool `json:"sni,omitempty"`
	// Namespace is the shoot's technical ID, shoot--<project>--<name>.
	Namespace string `json:"namespace,omitempty"`
	// Provider is the type of the shoot's infrastructure, SeedProvider that of the seed's and BackupProvider that of the
	// backups'; each is the one before where it is empty.
	Provider       string `json:"provider,omitempty"`
	SeedProvider   string `json:"seedProvider,omitempty"`
	BackupProvider string `json:"backupProvider,omitempty"`
	// Annotations are those of the Shoot.
	Annotations map[string]string `json:"annotations,omitempty"`
	// The provider configurations: of the Shoot, of its first worker pool, of the CloudProfile and of the Seed.
	InfrastructureConfig json.RawMessage `json:"infrastructureConfig,omitempty"`
	ControlPlaneConfig   json.RawMessage `json:"controlPlaneConfig,omitempty"`
	WorkerConfig         json.RawMessage `json:"workerConfig,omitempty"`
	CloudProfileConfig   json.RawMessage `json:"cloudProfileConfig,omitempty"`
	SeedConfig           json.RawMessage `json:"seedConfig,omitempty"`
	// Shoot, CloudProfile and Seed are merged into the objects that are generated (RFC 7386), before anything is computed from
	// them.
	Shoot        json.RawMessage `json:"shoot,omitempty"`
	CloudProfile json.RawMessage `json:"cloudProfile,omitempty"`
	Seed         json.RawMessage `json:"seed,omitempty"`
}

// Title returns a readable name of the scene: the version and special properties.
func (o Options) Title() string {
	words := []string{o.Kubernetes}
	for _, flag := range []struct {
		set  bool
		word string
	}{
		{o.Garden, "garden"}, {o.Legacy, "legacy"}, {o.SNI, "sni"}, {o.HighAvailability, "ha"}, {o.IPv6, "ipv6"},
		{o.Hibernated, "hibernated"}, {o.Workerless, "workerless"},
	} {
		if flag.set {
			words = append(words, flag.word)
		}
	}
	if o.Kubernetes == "" {
		words = words[1:]
	}
	return strings.Join(words, ", ")
}

// shootPart holds the fields of a Shoot that determine its components.
type shootPart struct {
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec struct {
		ControlPlane struct {
			HighAvailability *struct{} `json:"highAvailability"`
		} `json:"controlPlane"`
		Hibernation struct {
			Enabled bool `json:"enabled"`
		} `json:"hibernation"`
		Kubernetes struct {
			Version string `json:"version"`
		} `json:"kubernetes"`
		Networking struct {
			IPFamilies []string `json:"ipFamilies"`
		} `json:"networking"`
		Provider struct {
			Type    string            `json:"type"`
			Workers []json.RawMessage `json:"workers"`
		} `json:"provider"`
	} `json:"spec"`
	Status struct {
		TechnicalID string `json:"technicalID"`
	} `json:"status"`
}

// Adopt adds the values of a whole Shoot manifest. Values that are already set have precedence.
func (o Options) Adopt(shoot []byte) (Options, error) {
	merged, err := Merge(shoot, o.Shoot)
	if err != nil {
		return o, err
	}
	var m shootPart
	if err := json.Unmarshal(shoot, &m); err != nil {
		return o, fmt.Errorf("reading the Shoot: %w", err)
	}
	if id := technicalID(m.Status.TechnicalID, m.Metadata.Namespace, m.Metadata.Name); id != "" {
		o.Namespace = id
	}
	o.Workerless = o.Workerless || len(m.Spec.Provider.Workers) == 0
	o.Shoot = merged
	return o, o.follow()
}

// follow sets options from the components of the merged Shoot.
func (o *Options) follow() error {
	var m shootPart
	if err := json.Unmarshal(o.Shoot, &m); err != nil {
		return fmt.Errorf("reading the Shoot: %w", err)
	}
	o.Kubernetes = cmp.Or(m.Spec.Kubernetes.Version, o.Kubernetes)
	o.Provider = cmp.Or(m.Spec.Provider.Type, o.Provider)
	o.HighAvailability = o.HighAvailability || m.Spec.ControlPlane.HighAvailability != nil
	o.Hibernated = o.Hibernated || m.Spec.Hibernation.Enabled
	o.IPv6 = o.IPv6 || slices.Equal(m.Spec.Networking.IPFamilies, []string{"IPv6"})
	return nil
}

// technicalID returns the namespace of a Shoot in a seed: from its status, or else as computed by Gardener (gardener:
// pkg/utils/gardener/shoot.go, ComputeTechnicalID). The project is derived from its namespace by convention.
func technicalID(status, namespace, name string) string {
	project, isProject := strings.CutPrefix(namespace, "garden-")
	switch {
	case status != "":
		return status
	case isProject && name != "":
		return "shoot--" + project + "--" + name
	case name != "":
		return "shoot--local--" + name
	}
	return ""
}
