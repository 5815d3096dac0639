// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/convert"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

const profiles = "../../../example/profiles"

// TestExamples holds that what each example profile makes of control planes is proposed as a profile that makes the same of them.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(profiles, "*", "profile.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no profiles: %v", err)
	}
	total := map[string]int{}
	for _, path := range paths {
		provider := filepath.Base(filepath.Dir(path))
		program := golden.Compile(t, mutation.Options{}, path)
		for _, test := range []struct {
			name    string
			options []sample.Options
			// only are the providers for which it is enough; all when nil.
			only []string
		}{
			{"1.34", []sample.Options{{}}, []string{"aws"}},
			{"versions", []sample.Options{{Kubernetes: "1.31.14"}, {Kubernetes: "1.33.6"}, {Kubernetes: "1.34.2"}}, nil},
			{"annotation", []sample.Options{{Kubernetes: "1.33.6"}, {Kubernetes: "1.33.6", Annotations: enabled(provider)}}, []string{"aws", "azure", "gcp", "openstack"}},
			{"kinds", []sample.Options{{}, {HighAvailability: true, IPv6: true}, {Workerless: true}}, []string{"gcp", "metal", "stackit"}},
			{"nothing known", []sample.Options{{Kubernetes: "1.33.6"}, {}}, []string{"alicloud", "metal"}},
			{"older", nil, nil},
		} {
			if test.only != nil && !slices.Contains(test.only, provider) {
				continue
			}
			t.Run(provider+"/"+test.name, func(t *testing.T) {
				var cases []convert.Case
				for _, o := range test.options {
					o.Provider = provider
					cases = append(cases, caseOf(t, program, o, contract.Today))
					if test.name == "nothing known" {
						cases[len(cases)-1].Facts = nil
					}
				}
				options := convert.Options{Name: provider, Provider: provider}
				if test.options == nil {
					options.Generation = contract.Labelled
					older := golden.Compile(t, mutation.Options{Generation: contract.Labelled}, path)
					cases = []convert.Case{caseOf(t, older, sample.Options{Provider: provider, Kubernetes: "1.31.14"}, contract.Labelled)}
				}
				proposal, err := convert.Propose(t.Context(), cases, options)
				if err != nil {
					t.Fatal(err)
				}
				for _, missed := range proposal.Missed {
					t.Error(missed)
				}
				if proposal.Reproduced != proposal.Objects {
					t.Errorf("%d of %d objects are reproduced", proposal.Reproduced, proposal.Objects)
				}
				for operation, count := range proposal.Differences {
					total[operation] += count
				}
				if name := provider + "-" + test.name; slices.Contains(shown, name) {
					golden.Compare(t, filepath.Join("testdata", "examples", name+".yaml"), string(proposal.Profile))
				}
			})
		}
	}
	t.Logf("differences by operation: %v", total)
	if total["patch"] > 0 {
		t.Errorf("%d differences need a patch", total["patch"])
	}
}

// shown are the proposals that are held as they are written.
var shown = []string{"aws-1.34", "azure-annotation", "gcp-kinds", "metal-kinds", "openstack-versions", "openstack-older"}

func enabled(provider string) map[string]string {
	return map[string]string{provider + ".provider.extensions.gardener.cloud/enable-volume-attributes-class": "true"}
}

// caseOf is a control plane as Gardener writes it, and as the program makes it.
func caseOf(t *testing.T, program *mutation.Program, o sample.Options, generation contract.Generation) convert.Case {
	t.Helper()
	objects := sampled(t, o, generation)
	known, err := sample.Facts(o)
	if err != nil {
		t.Fatal(err)
	}
	c := convert.Case{Name: o.Kubernetes, Facts: known}
	switch {
	case o.HighAvailability:
		c.Name = "ha"
	case o.Workerless:
		c.Name = "workerless"
	case o.Annotations != nil:
		c.Name = "annotated"
	}
	admission := render.Admission{Namespace: c.Facts.Namespace.Name, Labels: c.Facts.Namespace.Labels, Operation: "CREATE"}
	static := &facts.Static{Facts: c.Facts, Objects: []map[string]any{
		{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "cloudprovider"}, "data": map[string]any{}},
		{"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Infrastructure", "metadata": map[string]any{"name": c.Facts.Shoot.Name},
			"status": map[string]any{"nodesCIDR": "10.250.0.0/16"}},
		{"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "BackupBucket", "metadata": map[string]any{"name": "backups"}},
	}}
	for _, object := range objects {
		before, err := manifest.New(object.JSON, source.Position{})
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
		after := before
		after.JSON = change.Bytes()
		c.Before, c.After = append(c.Before, before), append(c.After, after)
	}
	return c
}

// samples keeps control planes, which do not depend on the provider.
var samples = map[string][]sample.Object{}

func sampled(t *testing.T, o sample.Options, generation contract.Generation) []sample.Object {
	t.Helper()
	o.Provider, o.Annotations = "", nil
	key := fmt.Sprintf("%+v %s", o, generation)
	if objects, ok := samples[key]; ok {
		return objects
	}
	var err error
	if generation == contract.Labelled {
		samples[key], err = sample.Legacy(sample.LegacyOptions{})
	} else {
		samples[key], err = sample.ControlPlane(t.Context(), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return samples[key]
}
