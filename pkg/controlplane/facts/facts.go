// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"errors"
	"sync"
)

var (
	// ErrNotFound says that a namespace has no facts, or that a lookup's object or key does not exist.
	ErrNotFound = errors.New("not found")
	// ErrUndecodable says that a resource is not what it should be.
	ErrUndecodable = errors.New("cannot be decoded")
	// ErrUnavailable says that the facts could not be read now; a later attempt may succeed.
	ErrUnavailable = errors.New("unavailable")
)

// Source reads facts. It is safe for concurrent use; its errors wrap ErrNotFound, ErrUndecodable or ErrUnavailable.
type Source interface {
	// Read returns the facts of a control-plane namespace, or those of the garden for the namespace "garden".
	Read(ctx context.Context, namespace string) (*Facts, error)
	// Lookup reads an object for a control plane in the namespace and returns what the request names. An optional lookup of
	// an object that does not exist returns nil, and of one that lacks keys or paths those that it has.
	Lookup(ctx context.Context, namespace string, l LookupRequest) (*Found, error)
}

// Refresher is a Source whose Read may lag behind what is stored, such as one that reads from a cache.
type Refresher interface {
	// Refresh is Read of what is stored now.
	Refresh(ctx context.Context, namespace string) (*Facts, error)
}

// Facts are what is known of a control plane. What is not known is nil. They are immutable, safe for concurrent use and must not
// be copied.
type Facts struct {
	Namespace    Namespace
	Shoot        *Shoot
	Seed         *Part[Seed]
	CloudProfile *Part[CloudProfile]
	Garden       *Garden

	once   sync.Once
	values celValues
}

// WithNamespace returns the same facts for a namespace with these labels and annotations.
func (f *Facts) WithNamespace(n Namespace) *Facts {
	return &Facts{Namespace: n, Shoot: f.Shoot, Seed: f.Seed, CloudProfile: f.CloudProfile, Garden: f.Garden}
}

// Kubernetes is the version of the control plane, such as 1.34.2; empty when it is not known.
func (f *Facts) Kubernetes() string {
	switch {
	case f.Shoot != nil:
		return f.Shoot.Kubernetes
	case f.Garden != nil:
		return f.Garden.Kubernetes
	default:
		return ""
	}
}

// Pool is the shoot's worker pool with this name; nil when there is none.
func (f *Facts) Pool(name string) *Worker {
	if f.Shoot == nil || name == "" {
		return nil
	}
	for i := range f.Shoot.Workers {
		if f.Shoot.Workers[i].Name == name {
			return &f.Shoot.Workers[i]
		}
	}
	return nil
}

// Namespace is the control plane's namespace in the seed.
type Namespace struct {
	Name        string
	Labels      map[string]string
	Annotations map[string]string
}

// Shoot is the part of a Shoot (core.gardener.cloud/v1beta1) that expressions ask for often.
type Shoot struct {
	Name, Namespace, UID string
	Labels, Annotations  map[string]string
	// Kubernetes is the version of the control plane, such as 1.34.2.
	Kubernetes string
	Region     string
	// Provider is the type in spec.provider.
	Provider string
	// CloudProfile is the name of the cloud profile, whatever its kind.
	CloudProfile string
	Networking   Networking
	Hibernated   bool
	// Workerless says that there are no workers; spec.provider.workers is empty then.
	Workerless bool
	// HighAvailability is the failure tolerance: "", node or zone.
	HighAvailability string
	Purpose          string
	TechnicalID      string
	Workers          []Worker
	// Manifest is the whole Shoot.
	Manifest *Manifest
}

// Networking is a shoot's spec.networking. IPFamilies defaults to IPv4, as in Gardener (pkg/apis/core/v1beta1/defaults_shoot.go).
type Networking struct {
	Type                  string
	IPFamilies            []string
	Nodes, Pods, Services string
}

// Worker is a worker pool of a shoot.
type Worker struct {
	Name string
	// Kubernetes is the version of the pool's kubelets; it defaults to the shoot's.
	Kubernetes  string
	MachineType string
	// MachineImage and MachineImageVersion are "" when Gardener has not chosen yet.
	MachineImage, MachineImageVersion string
	// Architecture defaults to amd64, as in Gardener.
	Architecture        string
	CRI                 string
	Minimum, Maximum    int64
	Zones               []string
	Labels, Annotations map[string]string
	// Volume is that of the operating system; nil without one.
	Volume      *Volume
	DataVolumes []Volume
	// KubeletDataVolume names the data volume for the kubelet's files; empty without one.
	KubeletDataVolume string
	Taints            []Taint
	Sysctls           map[string]string
	ContainerRuntimes []string
	// SystemComponents says that system components may run on the pool's nodes, which is the default.
	SystemComponents bool
	Priority         *int64
	UpdateStrategy   string
}

// Volume is a volume of the machines of a worker pool.
type Volume struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Size      string `json:"size"`
	Encrypted *bool  `json:"encrypted"`
}

// Taint is a taint of the nodes of a worker pool.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

// Seed is the part of a Seed that expressions ask for often.
type Seed struct {
	Name                string
	Labels, Annotations map[string]string
	Region, Provider    string
	// Kubernetes is the version of the seed, from the status; empty when it is not known.
	Kubernetes string
	Manifest   *Manifest
}

// CloudProfile is the part of a CloudProfile that expressions ask for often. For a NamespacedCloudProfile, Gardener writes the merged
// CloudProfile into the Cluster.
type CloudProfile struct {
	Name                string
	Labels, Annotations map[string]string
	Type                string
	Manifest            *Manifest
}

// Garden is the part of a Garden (operator.gardener.cloud/v1alpha1) that expressions ask for often.
type Garden struct {
	Name                string
	Labels, Annotations map[string]string
	// Kubernetes is the version of the virtual cluster.
	Kubernetes string
	Manifest   *Manifest
}
