// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/common/types/ref"
	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// The versions that Graft reads. Gardener writes a Cluster's resources in v1beta1 (pkg/extensions/cluster.go,
// SyncClusterResourceToSeed).
const (
	clusterVersion = "extensions.gardener.cloud/v1alpha1"
	coreVersion    = "core.gardener.cloud/v1beta1"
	gardenVersion  = "operator.gardener.cloud/v1alpha1"
)

// resource is a decoded resource as a variable.
type resource struct {
	value ref.Val
	// version is the version of Kubernetes, or an empty string if it is unknown.
	version string
	// pools are the worker pools of a shoot by name.
	pools map[string]*WorkerPool
}

// WorkerPool is a worker pool.
type WorkerPool struct {
	// Kubernetes is the version of the kubelets. Architecture is amd64 or arm64.
	Kubernetes, Architecture string

	value ref.Val
}

// FromCluster decodes a Cluster. The namespace has its name, but no labels: see WithNamespace. It fails with
// ErrUndecodable for another kind, or an unreadable Shoot; other parts are decoded at their first use.
func FromCluster(raw []byte) (*Facts, error) {
	var cluster struct {
		APIVersion string    `json:"apiVersion"`
		Kind       string    `json:"kind"`
		Metadata   Namespace `json:"metadata"`
		Spec       struct {
			CloudProfile json.RawMessage `json:"cloudProfile"`
			Seed         json.RawMessage `json:"seed"`
			Shoot        json.RawMessage `json:"shoot"`
		} `json:"spec"`
	}
	err := decode(raw, &cluster)
	if err == nil {
		err = checkKind(cluster.APIVersion, cluster.Kind, clusterVersion, "Cluster")
	}
	if err != nil {
		return nil, fmt.Errorf("decoding the Cluster: %w", err)
	}
	return FromParts(cluster.Metadata.Name, CloudProfile(cluster.Spec.CloudProfile), Seed(cluster.Spec.Seed), cluster.Spec.Shoot)
}

// FromParts decodes the Shoot of the Cluster with this name. An empty or null Shoot is unknown. It keeps the bytes, which
// must not change afterwards. It fails for an invalid Shoot; an invalid CloudProfile or Seed fails on use.
func FromParts(name string, cloudProfile, seed *LazyResource, shoot []byte) (*Facts, error) {
	f := &Facts{Namespace: Namespace{Name: name}, cloudProfile: cloudProfile, seed: seed}
	if absent(shoot) {
		return f, nil
	}
	var err error
	if f.shoot, err = shootType.read(shoot, coreVersion, "Shoot", shootVersion); err != nil {
		return nil, fmt.Errorf("decoding the Cluster %s: %w", name, err)
	}
	return f, nil
}

// FromGarden decodes a Garden into the facts of the namespace "garden". It fails for another kind, or an invalid
// Kubernetes version.
func FromGarden(raw []byte) (*Facts, error) {
	garden, err := gardenType.read(raw, gardenVersion, "Garden", gardenVersionPath)
	if err != nil {
		return nil, err
	}
	return &Facts{Namespace: Namespace{Name: target.GardenNamespace}, garden: garden}, nil
}

// DecodeNamespace decodes a Namespace. It fails if it is not an object.
func DecodeNamespace(raw []byte) (Namespace, error) {
	var r struct {
		Metadata Namespace `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return Namespace{}, fmt.Errorf("decoding a Namespace: %w", err)
	}
	return r.Metadata, nil
}

// LazyResource is a resource inside a Cluster that is decoded on first use, because most rules use only the shoot. A nil
// LazyResource is an unknown one.
type LazyResource struct{ decode func() (*resource, error) }

// Seed returns the part for a Seed, or nil for empty bytes or null. The bytes must not change afterwards.
func Seed(raw []byte) *LazyResource { return lazily(raw, seedType, "Seed", "status.kubernetesVersion") }

// CloudProfile returns the part for a CloudProfile, or nil for empty bytes or null. For a NamespacedCloudProfile, Gardener
// writes the merged CloudProfile into the Cluster. The bytes must not change afterwards.
func CloudProfile(raw []byte) *LazyResource { return lazily(raw, cloudProfileType, "CloudProfile", "") }

func lazily(raw []byte, of objectKind, kind, version string) *LazyResource {
	if absent(raw) {
		return nil
	}
	return &LazyResource{sync.OnceValues(func() (*resource, error) { return of.read(raw, coreVersion, kind, version) })}
}

// get returns the resource, or nil if it is unknown. The error wraps ErrUndecodable.
func (p *LazyResource) get() (*resource, error) {
	if p == nil {
		return nil, nil
	}
	return p.decode()
}

// read decodes a resource of a version and kind, with its version of Kubernetes at a path. It keeps the bytes, which must
// not change afterwards.
func (k objectKind) read(raw []byte, apiVersion, kind, version string) (*resource, error) {
	var err error
	o := &decodedObject{manifest: newManifest(raw), err: &err}
	if err = decode(raw, &o.members); err == nil {
		err = checkKind(take(o, "apiVersion", ""), take(o, "kind", ""), apiVersion, kind)
	}
	if err != nil {
		return nil, fmt.Errorf("decoding the %s: %w", kind, err)
	}
	r := &resource{value: k.value(o), pools: o.pools}
	if version != "" {
		r.version = take(o, version, "")
	}
	if err != nil {
		return nil, fmt.Errorf("decoding the %s: %w", kind, err)
	}
	return r, nil
}

func checkKind(apiVersion, kind, wantVersion, wantKind string) error {
	if apiVersion == wantVersion && kind == wantKind {
		return nil
	}
	return fmt.Errorf("it is a %q of %q, not a %s of %s: %w", kind, apiVersion, wantKind, wantVersion, ErrUndecodable)
}

// decode reads JSON. Errors contain no values.
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
		return wrongType(wrong.Field)
	}
	return fmt.Errorf("a field has a wrong type: %w", ErrUndecodable)
}

func wrongType(field string) error {
	return fmt.Errorf("the field %s has a wrong type: %w", field, ErrUndecodable)
}

func absent(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// decodedObject is a decoded resource, or an object inside of one.
type decodedObject struct {
	members map[string]any
	// manifest is the whole resource, and path the path of the object in it, which ends with a dot.
	manifest manifest
	path     string
	// pools are the worker pools of a shoot, after its value was made.
	pools map[string]*WorkerPool
	// err is the first error in the resource.
	err *error
}

// find returns the value at a path of members, or nil if there is none. A wrong type is an error of the object.
func (o *decodedObject) find(path string) any {
	var value any = o.members
	for key := range strings.SplitSeq(path, ".") {
		members, ok := value.(map[string]any)
		if !ok && value != nil {
			o.fail(wrongType(o.path + path))
			return nil
		}
		value = members[key]
	}
	return value
}

func (o *decodedObject) fail(err error) {
	if *o.err == nil {
		*o.err = err
	}
}

// take returns the value of a type at a path, or the default if there is none. A wrong type is an error of the object.
func take[T any](o *decodedObject, path string, otherwise T) T {
	switch value := o.find(path).(type) {
	case nil:
	case T:
		return value
	default:
		o.fail(wrongType(o.path + path))
	}
	return otherwise
}

// takeAll returns the items of a type in the list at a path. A wrong type is an error of the object.
func takeAll[T any](o *decodedObject, path string) []T {
	var all []T
	for _, value := range take[[]any](o, path, nil) {
		item, ok := value.(T)
		if !ok {
			o.fail(wrongType(o.path + path))
			return nil
		}
		all = append(all, item)
	}
	return all
}

// items returns the objects in the list at a path.
func (o *decodedObject) items(path string) []*decodedObject {
	var items []*decodedObject
	for i, members := range takeAll[map[string]any](o, path) {
		items = append(items, &decodedObject{members: members, manifest: o.manifest, err: o.err, path: fmt.Sprintf("%s%s[%d].", o.path, path, i)})
	}
	return items
}

// child returns the object at a path, which may be empty.
func (o *decodedObject) child(path string) *decodedObject {
	return &decodedObject{members: take[map[string]any](o, path, nil), manifest: o.manifest, err: o.err, path: o.path + path + "."}
}

// manifest returns a whole resource, which is decoded on first use.
type manifest func() map[string]any

func newManifest(raw []byte) manifest {
	return sync.OnceValue(func() map[string]any {
		var members map[string]any
		_ = kjson.UnmarshalCaseSensitivePreserveInts(raw, &members) // it was decoded before
		return members
	})
}
