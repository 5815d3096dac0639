// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"text/template"

	"github.com/Masterminds/semver/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
)

// Cluster returns the Cluster resource that gardenlet writes for the shoot, with the Shoot, the Seed and the
// CloudProfile encoded in it. Errors wrap ErrOptions when the options are wrong.
func Cluster(o Options) (*extensionsv1alpha1.Cluster, error) {
	r, err := o.resources()
	if err != nil {
		return nil, err
	}
	cluster := &extensionsv1alpha1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: extensionsv1alpha1.SchemeGroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Name: r.Namespace.Name},
	}
	for _, part := range []struct {
		into *runtime.RawExtension
		from any
	}{{&cluster.Spec.Shoot, r.Shoot}, {&cluster.Spec.Seed, r.Seed}, {&cluster.Spec.CloudProfile, r.CloudProfile}} {
		if part.into.Raw, err = json.Marshal(part.from); err != nil {
			return nil, fmt.Errorf("encoding a part of Cluster %q: %w", cluster.Name, err)
		}
	}
	return cluster, nil
}

// Namespace returns the shoot's namespace in the seed with the labels that select webhooks
// (pkg/gardenlet/operation/botanist/namespaces.go). Errors wrap ErrOptions.
func Namespace(o Options) (*corev1.Namespace, error) {
	r, err := o.resources()
	if err != nil {
		return nil, err
	}
	return r.Namespace, nil
}

// resources are those around the objects of a control plane.
type resources struct {
	Namespace    *corev1.Namespace
	Shoot        *gardencorev1beta1.Shoot
	Seed         *gardencorev1beta1.Seed
	CloudProfile *gardencorev1beta1.CloudProfile
	Networks     networks
}

// networks are the ranges of the shoot and the addresses that gardenlet derives from them.
type networks struct {
	Families              []gardencorev1beta1.IPFamily
	Nodes, Pods, Services string
	// InShoot is the address of the API server inside the shoot's network, DNS the address of CoreDNS.
	InShoot, DNS string
	// Advertised is the seed's address of the API server, moved to the range that Gardener reserves for it
	// (pkg/gardenlet/operation/botanist/kubeapiserverexposure.go).
	Advertised string
	// MaxNodes is the number of nodes that the range of the pods has room for.
	MaxNodes int64
}

// uid is the one UID of all samples, of the shoot, its namespace and the garden.
const uid = "5f0c2c1e-8f1f-4f7b-9d2b-0c8f5a3d7e11"

// clusterResources is a template of the resources: a Shoot as its owner would write it, and the others as Gardener
// writes them.
//
//go:embed cluster.yaml.tmpl
var clusterResources string

// resources makes the resources, and defaults the Shoot as the gardener-apiserver does. Errors wrap ErrOptions when the
// options are wrong.
func (o Options) resources() (*resources, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	values := struct {
		Options

		Project, Name, Domain, UID, Older, Seed string
		Minors                                  []int
	}{Options: o, Project: o.project(), Name: o.name(), Domain: o.domain(), UID: uid, Older: minorBefore(o.Kubernetes), Seed: seedVersion}
	for minor := newestMinor; minor >= oldestMinor; minor-- {
		values.Minors = append(values.Minors, minor)
	}
	r := &resources{}
	manifests, err := execute(clusterResources, values)
	if err == nil {
		err = yaml.UnmarshalStrict(manifests, r)
	}
	if err != nil {
		return nil, fmt.Errorf("writing the Shoot, the Seed and the CloudProfile: %w", err)
	}
	r.Seed.Spec.Provider.ProviderConfig = raw(o.SeedConfig)
	r.CloudProfile.Spec.ProviderConfig = raw(o.CloudProfileConfig)
	r.Shoot.Annotations = maps.Clone(o.Annotations)
	provider := &r.Shoot.Spec.Provider
	provider.InfrastructureConfig, provider.ControlPlaneConfig = raw(o.InfrastructureConfig), raw(o.ControlPlaneConfig)
	if !o.Workerless {
		provider.Workers[0].ProviderConfig = raw(o.WorkerConfig)
	}
	gardencorev1beta1.SetObjectDefaults_Shoot(r.Shoot)
	if o.Edit != nil {
		o.Edit(r.Shoot)
	}
	return r, nil
}

// execute returns the text that a template makes of values.
func execute(text string, values any) ([]byte, error) {
	parsed, err := template.New("resources").Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = parsed.Execute(&out, values)
	return out.Bytes(), err
}

// domain returns the shoot's external domain, below a name reserved for documentation.
func (o Options) domain() string {
	return fmt.Sprintf("%s.%s.shoot.example.com", o.name(), o.project())
}

// ranges parses constants of this package; the empty string is no range.
func ranges(cidr string) []net.IPNet {
	_, n, err := net.ParseCIDR(cidr)
	if err != nil {
		return nil
	}
	return []net.IPNet{*n}
}

// minorBefore returns the first patch version of the minor version before that one, or "" if there are no samples of it.
func minorBefore(version string) string {
	v, err := semver.NewVersion(version)
	if err != nil || v.Minor() <= oldestMinor {
		return ""
	}
	return fmt.Sprintf("%d.%d.0", v.Major(), v.Minor()-1)
}
