// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profiles_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
)

// subject is an object on its way through the webhooks; old is nil while it is being created.
type subject struct {
	group, version, kind, namespace, name, purpose string

	object, old []byte
}

// samples caches control planes by their inputs, because many cases share them.
var samples = map[string][]sample.Object{}

// subjects are the objects of a case.
func (c *testCase) subjects(t *testing.T, version string) []subject {
	t.Helper()
	var subjects []subject
	for _, o := range c.sampled(t, version) {
		subjects = append(subjects, newSubject(t, o.JSON))
	}
	for _, raw := range c.Objects {
		subjects = append(subjects, newSubject(t, raw))
	}
	edited := map[int]bool{}
	for i := range subjects {
		s := &subjects[i]
		before := s.object
		for n, e := range c.Edits {
			if e.matches(s) {
				s.object, edited[n] = e.apply(t, s.object), true
			}
		}
		for n, e := range c.Old {
			if e.matches(s) {
				if s.old == nil {
					s.old = before
				}
				s.old, edited[len(c.Edits)+n] = e.apply(t, s.old), true
			}
		}
	}
	if len(edited) != len(c.Edits)+len(c.Old) {
		t.Errorf("an edit of the case %s is of no object", c.Name)
	}
	return subjects
}

// sampled are the objects as Gardener writes them. They do not depend on the provider, nor on its configurations.
func (c *testCase) sampled(t *testing.T, version string) []sample.Object {
	t.Helper()
	o := c.options("", version)
	o.InfrastructureConfig, o.ControlPlaneConfig, o.CloudProfileConfig, o.SeedConfig = nil, nil, nil, nil
	key := fmt.Sprintf("%+v %+v", o, c.Legacy)
	if objects, ok := samples[key]; ok {
		return objects
	}
	var err error
	if c.Legacy != nil {
		samples[key], err = sample.Legacy(sample.LegacyOptions{Kubernetes: c.Legacy.Kubernetes, SNI: c.Legacy.SNI})
	} else {
		samples[key], err = sample.ControlPlane(t.Context(), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return samples[key]
}

func newSubject(t *testing.T, raw []byte) subject {
	t.Helper()
	var object unstructured.Unstructured
	if err := json.Unmarshal(raw, &object.Object); err != nil {
		t.Fatal(err)
	}
	gvk := object.GroupVersionKind()
	purpose, _, _ := unstructured.NestedString(object.Object, "spec", "purpose")
	return subject{
		group: gvk.Group, version: gvk.Version, kind: gvk.Kind, namespace: object.GetNamespace(), name: object.GetName(),
		purpose: purpose, object: raw,
	}
}

// facts are the facts of expressions: the Cluster that gardenlet writes for the shoot, and the objects for lookups.
func (c *testCase) facts(t *testing.T, provider, version string) facts.Source {
	t.Helper()
	o := c.options(provider, version)
	cluster, err := sample.Cluster(o)
	if err != nil {
		t.Fatal(err)
	}
	shoot := merged(t, cluster.Spec.Shoot.Raw, c.Shoot)
	if c.Legacy != nil {
		shoot = merged(t, shoot, fmt.Appendf(nil, `{"spec": {"kubernetes": {"version": %q}}}`, c.Legacy.Kubernetes))
	}
	profile := merged(t, cluster.Spec.CloudProfile.Raw, c.CloudProfile)
	found, err := facts.FromParts(o.Namespace, facts.CloudProfile(profile), facts.Seed(cluster.Spec.Seed.Raw), shoot)
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := sample.Namespace(o)
	if err != nil {
		t.Fatal(err)
	}
	return c.source(found.WithNamespace(facts.Namespace{
		Name: namespace.Name, Labels: namespace.Labels, Annotations: namespace.Annotations,
	}))
}

// merged is an object with a merge patch in it, which may be missing.
func merged(t *testing.T, object, patch []byte) []byte {
	t.Helper()
	if len(patch) == 0 {
		return object
	}
	object, err := jsonpatch.MergePatch(object, patch)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// source returns the facts of every namespace, and finds the present objects. stringData of a Secret becomes data.
func (c *testCase) source(found *facts.Facts) facts.Source {
	source := &facts.Static{Facts: found}
	for _, object := range c.Present {
		if texts, ok := object["stringData"].(map[string]any); ok {
			data := map[string]any{}
			for key, value := range texts {
				data[key] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(value)))
			}
			object = maps.Clone(object)
			object["data"] = data
		}
		source.Objects = append(source.Objects, object)
	}
	return source
}
