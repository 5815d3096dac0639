// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"encoding/json"
	"errors"
	"fmt"

	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// The versions that Graft reads. Gardener writes a Cluster's resources in v1beta1 (pkg/extensions/cluster.go, SyncClusterResourceToSeed).
const (
	clusterVersion = "extensions.gardener.cloud/v1alpha1"
	coreVersion    = "core.gardener.cloud/v1beta1"
	gardenVersion  = "operator.gardener.cloud/v1alpha1"
)

// FromCluster decodes a Cluster. The namespace has its name, but no labels: see WithNamespace.
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
	if err := decode(raw, &cluster); err != nil {
		return nil, fmt.Errorf("decoding the Cluster: %w", err)
	}
	if err := cluster.check(clusterVersion, "Cluster"); err != nil {
		return nil, fmt.Errorf("decoding the Cluster: %w", err)
	}
	return FromClusterObjects(cluster.Metadata.Name, cluster.Spec.CloudProfile, cluster.Spec.Seed, cluster.Spec.Shoot)
}

// FromGarden decodes a Garden into the facts of the namespace "garden".
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

// DecodeSeed decodes a Seed; nil for empty bytes or null.
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

// DecodeCloudProfile decodes a CloudProfile; nil for empty bytes or null.
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

// decode reads JSON into a struct, without a word of the JSON in the error.
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
