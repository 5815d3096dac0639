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
	cluster, err := decodeAs[struct {
		Resource

		Spec struct {
			CloudProfile json.RawMessage `json:"cloudProfile"`
			Seed         json.RawMessage `json:"seed"`
			Shoot        json.RawMessage `json:"shoot"`
		} `json:"spec"`
	}](raw, clusterVersion, "Cluster")
	if err != nil {
		return nil, err
	}
	return FromClusterObjects(cluster.Metadata.Name, cluster.Spec.CloudProfile, cluster.Spec.Seed, cluster.Spec.Shoot)
}

// FromClusterObjects decodes the raw resources of the Cluster with this name: the Shoot immediately, the rest on first
// use. Empty and null resources are unknown. It keeps the bytes, which must not change afterwards. It fails for an
// invalid Shoot; an invalid CloudProfile or Seed fails on use.
func FromClusterObjects(name string, cloudProfile, seed, shoot []byte) (*Facts, error) {
	decoded, err := DecodeShoot(shoot)
	if err != nil {
		return nil, fmt.Errorf("decoding the Cluster %s: %w", name, err)
	}
	return &Facts{
		Namespace: Namespace{Name: name}, Shoot: decoded, CloudProfile: lazily(cloudProfile, DecodeCloudProfile), Seed: lazily(seed, DecodeSeed),
	}, nil
}

// lazily returns the part that decode returns for these bytes, or nil without a resource.
func lazily[T any](raw []byte, decode func([]byte) (*T, error)) *Part[T] {
	if absent(raw) {
		return nil
	}
	return Lazy(func() (*T, error) { return decode(raw) })
}

// FromGarden decodes a Garden into the facts of the namespace "garden". It fails for another kind, or an invalid
// Kubernetes version.
func FromGarden(raw []byte) (*Facts, error) {
	g, err := decodeAs[Garden](raw, gardenVersion, "Garden")
	if err != nil {
		return nil, err
	}
	if err := checkVersion(g.Spec.VirtualCluster.Kubernetes.Version); err != nil {
		return nil, fmt.Errorf("decoding the Garden: spec.virtualCluster.kubernetes.version: %w", err)
	}
	return &Facts{Namespace: Namespace{Name: target.GardenNamespace}, Garden: g}, nil
}

// DecodeNamespace decodes a Namespace. It fails if it is not an object.
func DecodeNamespace(raw []byte) (Namespace, error) {
	var r Resource
	if err := json.Unmarshal(raw, &r); err != nil {
		return Namespace{}, fmt.Errorf("decoding a Namespace: %w", err)
	}
	return r.Metadata, nil
}

// DecodeShoot decodes a Shoot and sets its defaults. It returns nil for empty bytes or null. The bytes must not change
// afterwards. It fails for another kind, or an invalid Kubernetes version.
func DecodeShoot(raw []byte) (*Shoot, error) {
	if absent(raw) {
		return nil, nil
	}
	s, err := decodeAs[Shoot](raw, coreVersion, "Shoot")
	if err != nil {
		return nil, err
	}
	if err := checkVersion(s.Spec.Kubernetes.Version); err != nil {
		return nil, fmt.Errorf("decoding the Shoot: spec.kubernetes.version: %w", err)
	}
	s.Spec.CloudProfile.Name = cmp.Or(s.Spec.CloudProfile.Name, s.Spec.CloudProfileName)
	if len(s.Spec.Networking.IPFamilies) == 0 {
		s.Spec.Networking.IPFamilies = []string{"IPv4"}
	}
	for i := range s.Spec.Provider.Workers {
		w := &s.Spec.Provider.Workers[i]
		w.Machine.Architecture = cmp.Or(w.Machine.Architecture, "amd64")
		w.Kubernetes.Version = cmp.Or(w.Kubernetes.Version, s.Spec.Kubernetes.Version)
		if err := checkVersion(w.Kubernetes.Version); err != nil {
			return nil, fmt.Errorf("decoding the Shoot: spec.provider.workers[%d].kubernetes.version: %w", i, err)
		}
	}
	return s, nil
}

// DecodeSeed decodes a Seed. It fails for another kind or an invalid manifest.
func DecodeSeed(raw []byte) (*Seed, error) { return decodeAs[Seed](raw, coreVersion, "Seed") }

// DecodeCloudProfile decodes a CloudProfile. It fails for another kind or an invalid manifest.
func DecodeCloudProfile(raw []byte) (*CloudProfile, error) {
	return decodeAs[CloudProfile](raw, coreVersion, "CloudProfile")
}

// decodeAs decodes a resource of a version and kind. It keeps the bytes, which must not change afterwards.
func decodeAs[T any, P interface {
	*T
	resource() *Resource
}](raw []byte, apiVersion, kind string) (P, error) {
	into := P(new(T))
	if err := decode(raw, into); err != nil {
		return nil, fmt.Errorf("decoding the %s: %w", kind, err)
	}
	r := into.resource()
	if r.APIVersion != apiVersion || r.Kind != kind {
		return nil, fmt.Errorf("decoding the %s: it is a %q of %q, not a %s of %s: %w", kind, r.Kind, r.APIVersion, kind, apiVersion, ErrUndecodable)
	}
	r.Manifest = NewManifest(raw)
	return into, nil
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
type Manifest struct{ decode func() (tree, error) }

type tree struct {
	Spec   any `json:"spec"`
	Status any `json:"status"`
}

// NewManifest returns the manifest of a resource in JSON. The bytes must not change afterwards.
func NewManifest(raw []byte) *Manifest {
	return &Manifest{sync.OnceValues(func() (tree, error) {
		var t tree
		if kjson.UnmarshalCaseSensitivePreserveInts(raw, &t) != nil {
			return t, expression.Failure("the resource cannot be decoded")
		}
		return t, nil
	})}
}

// Status returns the decoded status, nil if there is none, or an error.
func (m *Manifest) Status() any { return m.part(func(t tree) any { return t.Status }) }

// Spec returns the decoded spec, nil if there is none, or an error.
func (m *Manifest) Spec() any { return m.part(func(t tree) any { return t.Spec }) }

func (m *Manifest) part(of func(tree) any) any {
	if m == nil {
		return nil
	}
	decoded, err := m.decode()
	if err != nil {
		return err
	}
	return of(decoded)
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
