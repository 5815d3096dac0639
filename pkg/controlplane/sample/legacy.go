// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener/pkg/client/kubernetes"
)

// LegacyOptions select a control plane of the older generation.
type LegacyOptions struct {
	// Kubernetes is any version. Default "1.20.15".
	Kubernetes string
	// Namespace is the shoot's namespace in the seed. Default "shoot--local--sample".
	Namespace string
	// SNI is the APIServerSNI feature gate: the Service is then of type ClusterIP, and it and the Deployment carry
	// the label core.gardener.cloud/apiserver-exposure. Without it the Service is of type LoadBalancer.
	SNI bool
}

// legacyObjects is a template of the objects as the text of the contract describes them: etcd as StatefulSets, all
// flags in the command, no label of objects that webhooks mutate.
//
//go:embed legacy.yaml.tmpl
var legacyObjects string

// Legacy writes the objects of a control plane of the older generation, sorted by kind and name. Errors wrap ErrOptions.
func Legacy(o LegacyOptions) ([]Object, error) {
	o.Kubernetes = cmp.Or(o.Kubernetes, "1.20.15")
	o.Namespace = cmp.Or(o.Namespace, "shoot--local--sample")
	if _, err := semver.StrictNewVersion(o.Kubernetes); err != nil {
		return nil, fmt.Errorf("%w: Kubernetes %q: %w", ErrOptions, o.Kubernetes, err)
	}
	manifests, err := o.manifests()
	if err != nil {
		return nil, fmt.Errorf("writing a control plane of the older generation: %w", err)
	}
	var objects []Object
	decoder := serializer.NewCodecFactory(kubernetes.SeedScheme).UniversalDeserializer()
	for manifest := range bytes.SplitSeq(manifests, []byte("\n---\n")) {
		decoded, _, err := decoder.Decode(manifest, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("decoding a control plane of the older generation: %w", err)
		}
		object, err := newObject(kubernetes.SeedScheme, "", decoded.(client.Object))
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	sortObjects(objects)
	return objects, nil
}

// manifests returns the objects as YAML.
func (o LegacyOptions) manifests() ([]byte, error) {
	type etcd struct{ Role, Capacity string }
	values := struct {
		LegacyOptions

		Advertised, Certificate string
		Etcds                   []etcd
	}{o, "192.0.2.10", certificate, []etcd{{"events", "10Gi"}, {"main", "25Gi"}}}
	if o.SNI {
		values.Advertised = "10.242.17.4"
	}
	return execute(legacyObjects, values)
}
