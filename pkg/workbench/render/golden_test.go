// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/samples"
)

const openstack = "../../../example/profiles/openstack/profile.yaml"

// TestGolden checks the output for users. The golden files change with the profile, the sample and the output: review
// the changes, then run the test with -update.
func TestGolden(t *testing.T) {
	gates := sample.Options{Kubernetes: "1.33.5", Annotations: map[string]string{
		"openstack.provider.extensions.gardener.cloud/enable-volume-attributes-class": "true",
	}}
	for _, c := range []struct {
		name    string
		profile string
		options sample.Options
		style   render.Style
	}{
		{name: "openstack-1.34", profile: openstack},
		{name: "openstack-1.33-volume-attributes-class", profile: openstack, options: gates},
		{name: "everything-1.34", profile: "testdata/everything.yaml", style: render.Style{Width: 140}},
		{name: "everything-1.34-coloured", profile: "testdata/everything.yaml", style: render.Style{Colour: true, Width: 140}},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects, err := sample.ControlPlane(t.Context(), c.options)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := c.style.Write(&out, admit(t, c.profile, c.options, contract.Today, objects)...); err != nil {
				t.Fatal(err)
			}
			compare(t, c.name, out.Bytes())
		})
	}
}

// TestGoldenOlder is the generation with StatefulSets and a Service of type LoadBalancer.
func TestGoldenOlder(t *testing.T) {
	objects, err := sample.Legacy(sample.LegacyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (render.Style{Context: 2}).Write(&out, admit(t, openstack, sample.Options{}, contract.Labelled, objects)...); err != nil {
		t.Fatal(err)
	}
	compare(t, "openstack-older", out.Bytes())
}

func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	golden.Compare(t, filepath.Join("testdata", name+".txt"), string(got))
}

// admit takes the objects of a control plane through a profile.
func admit(t testing.TB, file string, o sample.Options, generation contract.Generation, objects []sample.Object) []*render.Change {
	t.Helper()
	program, known := golden.Compile(t, compiler.Options{Generation: generation}, file), factsOf(t, o)
	admission := render.Admission{
		Namespace: known.Facts.Namespace.Name, Labels: known.Facts.Namespace.Labels, Operation: "CREATE",
	}
	var changes []*render.Change
	for _, object := range objects {
		change, err := render.NewChange(object.JSON)
		if err != nil {
			t.Fatal(err)
		}
		if err := change.Admit(t.Context(), program, admission, known); err != nil {
			t.Fatal(err)
		}
		changes = append(changes, change)
	}
	return changes
}

func factsOf(t testing.TB, o sample.Options) *facts.Static {
	t.Helper()
	known, err := samples.Facts(o)
	if err != nil {
		t.Fatal(err)
	}
	return &facts.Static{Facts: known}
}
