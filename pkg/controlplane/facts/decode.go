// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// The versions that Graft reads. Gardener writes a Cluster's resources in v1beta1 (pkg/extensions/cluster.go,
// SyncClusterResourceToSeed).
const (
	clusterVersion = "extensions.gardener.cloud/v1alpha1"
	coreVersion    = "core.gardener.cloud/v1beta1"
	gardenVersion  = "operator.gardener.cloud/v1alpha1"
)

// FromCluster decodes a Cluster. The namespace has its name, but no labels: see WithNamespace. It fails with
// ErrUndecodable for another kind, or an unreadable Shoot; other parts are decoded at their first use.
func FromCluster(raw []byte) (*Facts, error) {
	var cluster struct {
		typeMeta
		Metadata objectMeta `json:"metadata"`
		Spec     struct {
			CloudProfile json.RawMessage `json:"cloudProfile"`
			Seed         json.RawMessage `json:"seed"`
			Shoot        json.RawMessage `json:"shoot"`
		} `json:"spec"`
	}
	if err := decodeAs(raw, &cluster, &cluster.typeMeta, clusterVersion, "Cluster"); err != nil {
		return nil, err
	}
	return FromClusterObjects(cluster.Metadata.Name, cluster.Spec.CloudProfile, cluster.Spec.Seed, cluster.Spec.Shoot)
}

// FromClusterObjects decodes the raw resources of the Cluster with this name: the Shoot immediately, the rest on first
// use. Empty and null resources are unknown. It keeps the bytes, which must not change afterwards. It fails for an
// invalid Shoot; an invalid CloudProfile or Seed fails on use.
func FromClusterObjects(name string, cloudProfile, seed, shoot []byte) (*Facts, error) {
	f := &Facts{Namespace: Namespace{Name: name}}
	var err error
	if !absent(cloudProfile) {
		f.CloudProfile = Lazy(func() (*CloudProfile, error) { return DecodeCloudProfile(cloudProfile) })
	}
	if !absent(seed) {
		f.Seed = Lazy(func() (*Seed, error) { return DecodeSeed(seed) })
	}
	if f.Shoot, err = DecodeShoot(shoot); err != nil {
		return nil, fmt.Errorf("decoding the Cluster %s: %w", name, err)
	}
	return f, nil
}

// FromGarden decodes a Garden into the facts of the namespace "garden". It fails for another kind, or an invalid
// Kubernetes version.
func FromGarden(raw []byte) (*Facts, error) {
	var m struct {
		typeMeta
		Metadata objectMeta `json:"metadata"`
		Spec     struct {
			VirtualCluster struct {
				Kubernetes struct {
					Version string `json:"version"`
				} `json:"kubernetes"`
			} `json:"virtualCluster"`
		} `json:"spec"`
	}
	if err := decodeAs(raw, &m, &m.typeMeta, gardenVersion, "Garden"); err != nil {
		return nil, err
	}
	g := &Garden{
		Name:        m.Metadata.Name,
		Labels:      m.Metadata.Labels,
		Annotations: m.Metadata.Annotations,
		Kubernetes:  m.Spec.VirtualCluster.Kubernetes.Version,
		Manifest:    NewManifest(raw),
	}
	if err := checkVersion(g.Kubernetes); err != nil {
		return nil, fmt.Errorf("decoding the Garden: spec.virtualCluster.kubernetes.version: %w", err)
	}
	return &Facts{Namespace: Namespace{Name: target.GardenNamespace}, Garden: g}, nil
}

// DecodeNamespace decodes a Namespace. It fails if it is not an object.
func DecodeNamespace(raw []byte) (Namespace, error) {
	var m struct {
		Metadata objectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return Namespace{}, fmt.Errorf("decoding a Namespace: %w", err)
	}
	return Namespace{Name: m.Metadata.Name, Labels: m.Metadata.Labels, Annotations: m.Metadata.Annotations}, nil
}

// shootManifest is the part of a Shoot that is decoded immediately.
type shootManifest struct {
	typeMeta
	Metadata objectMeta `json:"metadata"`
	Spec     struct {
		Region           string `json:"region"`
		Purpose          string `json:"purpose"`
		CloudProfileName string `json:"cloudProfileName"`
		CloudProfile     struct {
			Name string `json:"name"`
		} `json:"cloudProfile"`
		Kubernetes   versioned `json:"kubernetes"`
		ControlPlane struct {
			HighAvailability struct {
				FailureTolerance struct {
					Type string `json:"type"`
				} `json:"failureTolerance"`
			} `json:"highAvailability"`
		} `json:"controlPlane"`
		Hibernation struct {
			Enabled bool `json:"enabled"`
		} `json:"hibernation"`
		Networking struct {
			Type       string   `json:"type"`
			IPFamilies []string `json:"ipFamilies"`
			Nodes      string   `json:"nodes"`
			Pods       string   `json:"pods"`
			Services   string   `json:"services"`
		} `json:"networking"`
		Provider struct {
			Type    string           `json:"type"`
			Workers []workerManifest `json:"workers"`
		} `json:"provider"`
	} `json:"spec"`
	Status struct {
		TechnicalID string `json:"technicalID"`
	} `json:"status"`
}

type versioned struct {
	Version string `json:"version"`
}

type workerManifest struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Minimum     int64             `json:"minimum"`
	Maximum     int64             `json:"maximum"`
	Zones       []string          `json:"zones"`
	Kubernetes  versioned         `json:"kubernetes"`
	CRI         struct {
		Name              string `json:"name"`
		ContainerRuntimes []struct {
			Type string `json:"type"`
		} `json:"containerRuntimes"`
	} `json:"cri"`
	Volume                *Volume           `json:"volume"`
	DataVolumes           []Volume          `json:"dataVolumes"`
	KubeletDataVolumeName string            `json:"kubeletDataVolumeName"`
	Taints                []Taint           `json:"taints"`
	Sysctls               map[string]string `json:"sysctls"`
	SystemComponents      *struct {
		Allow bool `json:"allow"`
	} `json:"systemComponents"`
	Priority       *int64 `json:"priority"`
	UpdateStrategy string `json:"updateStrategy"`
	Machine        struct {
		Type         string `json:"type"`
		Architecture string `json:"architecture"`
		Image        struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"image"`
	} `json:"machine"`
}

// DecodeShoot decodes a Shoot. It returns nil for empty bytes or null. The bytes must not change afterwards. It fails
// for another kind, or an invalid Kubernetes version.
func DecodeShoot(raw []byte) (*Shoot, error) {
	if absent(raw) {
		return nil, nil
	}
	var m shootManifest
	if err := decodeAs(raw, &m, &m.typeMeta, coreVersion, "Shoot"); err != nil {
		return nil, err
	}
	s := m.shoot()
	s.Manifest = NewManifest(raw)
	if err := checkVersion(s.Kubernetes); err != nil {
		return nil, fmt.Errorf("decoding the Shoot: spec.kubernetes.version: %w", err)
	}
	for i, w := range s.Workers {
		if err := checkVersion(w.Kubernetes); err != nil {
			return nil, fmt.Errorf("decoding the Shoot: spec.provider.workers[%d].kubernetes.version: %w", i, err)
		}
	}
	return s, nil
}

func (m *shootManifest) shoot() *Shoot {
	s := &Shoot{
		Name:             m.Metadata.Name,
		Namespace:        m.Metadata.Namespace,
		UID:              m.Metadata.UID,
		Labels:           m.Metadata.Labels,
		Annotations:      m.Metadata.Annotations,
		Kubernetes:       m.Spec.Kubernetes.Version,
		Region:           m.Spec.Region,
		Provider:         m.Spec.Provider.Type,
		CloudProfile:     cmp.Or(m.Spec.CloudProfile.Name, m.Spec.CloudProfileName),
		Hibernated:       m.Spec.Hibernation.Enabled,
		Workerless:       len(m.Spec.Provider.Workers) == 0,
		HighAvailability: m.Spec.ControlPlane.HighAvailability.FailureTolerance.Type,
		Purpose:          m.Spec.Purpose,
		TechnicalID:      m.Status.TechnicalID,
		Networking: Networking{
			Type:       m.Spec.Networking.Type,
			IPFamilies: m.Spec.Networking.IPFamilies,
			Nodes:      m.Spec.Networking.Nodes,
			Pods:       m.Spec.Networking.Pods,
			Services:   m.Spec.Networking.Services,
		},
	}
	if len(s.Networking.IPFamilies) == 0 {
		s.Networking.IPFamilies = []string{"IPv4"}
	}
	for _, w := range m.Spec.Provider.Workers {
		s.Workers = append(s.Workers, w.worker(s.Kubernetes))
	}
	return s
}

func (m *workerManifest) worker(version string) Worker {
	var runtimes []string
	for _, runtime := range m.CRI.ContainerRuntimes {
		runtimes = append(runtimes, runtime.Type)
	}
	return Worker{
		Name:                m.Name,
		Kubernetes:          cmp.Or(m.Kubernetes.Version, version),
		MachineType:         m.Machine.Type,
		MachineImage:        m.Machine.Image.Name,
		MachineImageVersion: m.Machine.Image.Version,
		Architecture:        cmp.Or(m.Machine.Architecture, "amd64"),
		CRI:                 m.CRI.Name,
		Minimum:             m.Minimum,
		Maximum:             m.Maximum,
		Zones:               m.Zones,
		Labels:              m.Labels,
		Annotations:         m.Annotations,
		Volume:              m.Volume,
		DataVolumes:         m.DataVolumes,
		KubeletDataVolume:   m.KubeletDataVolumeName,
		Taints:              m.Taints,
		Sysctls:             m.Sysctls,
		ContainerRuntimes:   runtimes,
		SystemComponents:    m.SystemComponents == nil || m.SystemComponents.Allow,
		Priority:            m.Priority,
		UpdateStrategy:      m.UpdateStrategy,
	}
}

// DecodeSeed decodes a Seed. It returns nil for empty bytes or null. It fails for another kind or an invalid manifest.
func DecodeSeed(raw []byte) (*Seed, error) {
	if absent(raw) {
		return nil, nil
	}
	var m struct {
		typeMeta
		Metadata objectMeta `json:"metadata"`
		Spec     struct {
			Provider struct {
				Type   string `json:"type"`
				Region string `json:"region"`
			} `json:"provider"`
		} `json:"spec"`
		Status struct {
			KubernetesVersion string `json:"kubernetesVersion"`
		} `json:"status"`
	}
	if err := decodeAs(raw, &m, &m.typeMeta, coreVersion, "Seed"); err != nil {
		return nil, err
	}
	return &Seed{
		Name:        m.Metadata.Name,
		Labels:      m.Metadata.Labels,
		Annotations: m.Metadata.Annotations,
		Region:      m.Spec.Provider.Region,
		Provider:    m.Spec.Provider.Type,
		Kubernetes:  m.Status.KubernetesVersion,
		Manifest:    NewManifest(raw),
	}, nil
}

// DecodeCloudProfile decodes a CloudProfile. It returns nil for empty bytes or null. It fails for another kind or an
// invalid manifest.
func DecodeCloudProfile(raw []byte) (*CloudProfile, error) {
	if absent(raw) {
		return nil, nil
	}
	var m struct {
		typeMeta
		Metadata objectMeta `json:"metadata"`
		Spec     struct {
			Type string `json:"type"`
		} `json:"spec"`
	}
	if err := decodeAs(raw, &m, &m.typeMeta, coreVersion, "CloudProfile"); err != nil {
		return nil, err
	}
	return &CloudProfile{
		Name:        m.Metadata.Name,
		Labels:      m.Metadata.Labels,
		Annotations: m.Metadata.Annotations,
		Type:        m.Spec.Type,
		Manifest:    NewManifest(raw),
	}, nil
}

type typeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

type objectMeta struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	UID         string            `json:"uid"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func (t typeMeta) check(apiVersion, kind string) error {
	if t.APIVersion != apiVersion || t.Kind != kind {
		return fmt.Errorf("it is a %q of %q, not a %s of %s: %w", t.Kind, t.APIVersion, kind, apiVersion, ErrUndecodable)
	}
	return nil
}

func decodeAs(raw []byte, into any, meta *typeMeta, apiVersion, kind string) error {
	if err := decode(raw, into); err != nil {
		return fmt.Errorf("decoding the %s: %w", kind, err)
	}
	if err := meta.check(apiVersion, kind); err != nil {
		return fmt.Errorf("decoding the %s: %w", kind, err)
	}
	return nil
}

// decode reads JSON into a struct. Errors contain no values.
func decode(raw []byte, into any) error {
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, into)
	if err == nil {
		return nil
	}
	if is, offset := kjson.SyntaxErrorOffset(err); is {
		return fmt.Errorf("not JSON from byte %d on: %w", offset, ErrUndecodable)
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Errorf("the field %s has a wrong type: %w", wrong.Field, ErrUndecodable)
	}
	return fmt.Errorf("a field has a wrong type: %w", ErrUndecodable)
}

func checkVersion(version string) error {
	if _, err := expression.ParseVersion(version); err != nil {
		return fmt.Errorf("%w: %w", err, ErrUndecodable)
	}
	return nil
}

func absent(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// Manifest is a whole resource with spec and status that are decoded on first use. A nil Manifest has neither.
type Manifest struct {
	raw  []byte
	once sync.Once
	tree struct {
		Spec   any `json:"spec"`
		Status any `json:"status"`
	}
	err error
}

// NewManifest returns the manifest of a resource in JSON. The bytes must not change afterwards.
func NewManifest(raw []byte) *Manifest { return &Manifest{raw: raw} }

// Dropped returns the manifest of a resource that no rule uses, without its content. Its accessors return an error.
func Dropped() *Manifest {
	m := &Manifest{}
	m.once.Do(func() { m.err = expression.Failure("the resource is not kept") })
	return m
}

func (m *Manifest) decode() error {
	m.once.Do(func() {
		if kjson.UnmarshalCaseSensitivePreserveInts(m.raw, &m.tree) != nil {
			m.err = expression.Failure("the resource cannot be decoded")
		}
		m.raw = nil
	})
	return m.err
}

// Status returns the decoded status, nil if there is none, or an error.
func (m *Manifest) Status() any {
	if m == nil {
		return nil
	}
	if err := m.decode(); err != nil {
		return err
	}
	return m.tree.Status
}

// Spec returns the decoded spec, nil if there is none, or an error.
func (m *Manifest) Spec() any {
	if m == nil {
		return nil
	}
	if err := m.decode(); err != nil {
		return err
	}
	return m.tree.Spec
}

// In returns the value at a path below spec, nil if there is none, or an error.
func (m *Manifest) In(path ...string) any { return descend(m.Spec(), path) }

// inWorker returns the value at a path below a worker, by the worker's index. It returns nil if there is none, or an
// error.
func (s *Shoot) inWorker(i int, path []string) any {
	workers := s.Manifest.In("provider", "workers")
	if all, isList := workers.([]any); isList && i < len(all) {
		return descend(all[i], path)
	}
	if _, failed := workers.(error); failed {
		return workers
	}
	return nil
}

// descend returns the value at a path below a decoded value, nil if there is none, or the value itself if it is an
// error.
func descend(value any, path []string) any {
	if _, failed := value.(error); failed {
		return value
	}
	for _, key := range path {
		members, _ := value.(map[string]any)
		value = members[key]
	}
	return value
}
