// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/convert"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/samples"
)

const profiles = "../../../example/profiles"

// TestExamples proposes a profile from the results of each example profile, and compares the results of both.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(profiles, "*", "profile.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no profiles: %v", err)
	}
	for _, path := range paths {
		provider := filepath.Base(filepath.Dir(path))
		program := golden.Compile(t, compiler.Options{}, path)
		for name, options := range map[string]sample.Options{"1.34": {}, "ipv6": {HighAvailability: true, IPv6: true}, "older": {Kubernetes: "1.31.14"}} {
			t.Run(provider+"/"+name, func(t *testing.T) {
				options.Provider = provider
				generation := contract.Today
				program := program
				if name == "older" {
					generation = contract.Labelled
					program = golden.Compile(t, compiler.Options{Generation: generation}, path)
				}
				before, after := admitted(t, program, options, generation)
				proposal, err := convert.Propose(t.Context(), before, after, convert.Options{Name: provider, Provider: provider, Generation: generation})
				if err != nil {
					t.Fatal(err)
				}
				missed := slices.DeleteFunc(slices.Clone(proposal.Missed), isClaim)
				for _, line := range missed {
					t.Error(line)
				}
				if want := proposal.Objects - (len(proposal.Missed) - len(missed)); proposal.Reproduced != want {
					t.Errorf("%d objects are reproduced, want %d", proposal.Reproduced, want)
				}
				if name := provider + "-" + name; slices.Contains(shown, name) {
					golden.Compare(t, filepath.Join("testdata", "examples", name+".yaml"), string(proposal.Profile))
				}
			})
		}
	}
}

// isClaim reports whether a missed difference is in the volume claims of an older etcd, which are not proposed.
func isClaim(missed string) bool {
	return strings.Contains(missed, "fields set spec.volumeClaimTemplates is missing")
}

// shown are the proposals that are compared as they are written.
var shown = []string{"aws-1.34", "openstack-older", "metal-ipv6"}

// admitted returns a control plane as Gardener writes it, and as the program makes it.
func admitted(t *testing.T, program *mutation.Program, o sample.Options, generation contract.Generation) (before, after []manifest.Object) {
	t.Helper()
	objects := sampled(t, o, generation)
	known, err := samples.Facts(o)
	if err != nil {
		t.Fatal(err)
	}
	admission := render.Admission{Namespace: known.Namespace.Name, Labels: known.Namespace.Labels, Operation: "CREATE"}
	static := &facts.Static{Facts: known, Objects: []map[string]any{
		{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "cloudprovider"}, "data": map[string]any{}},
		{"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Infrastructure", "metadata": map[string]any{"name": "sample"},
			"status": map[string]any{"nodesCIDR": "10.250.0.0/16"}},
		{"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "BackupBucket", "metadata": map[string]any{"name": "backups"}},
	}}
	for _, object := range objects {
		was, err := manifest.New(object.JSON, source.Position{})
		if err != nil {
			t.Fatal(err)
		}
		change, err := render.NewChange(object.JSON)
		if err != nil {
			t.Fatal(err)
		}
		if err := change.Admit(t.Context(), program, admission, static); err != nil {
			t.Fatal(err)
		}
		is := was
		is.JSON = change.Bytes()
		before, after = append(before, was), append(after, is)
	}
	return before, after
}

// planes keeps control planes, which do not depend on the provider.
var planes = map[string][]sample.Object{}

func sampled(t *testing.T, o sample.Options, generation contract.Generation) []sample.Object {
	t.Helper()
	o.Provider, o.Annotations = "", nil
	key := fmt.Sprintf("%+v %s", o, generation)
	if objects, ok := planes[key]; ok {
		return objects
	}
	var err error
	if generation == contract.Labelled {
		planes[key], err = sample.Legacy(sample.LegacyOptions{})
	} else {
		planes[key], err = sample.ControlPlane(t.Context(), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return planes[key]
}
