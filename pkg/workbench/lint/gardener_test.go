// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestExamplesAreClean tests that the example profiles have no findings, without any option.
func TestExamplesAreClean(t *testing.T) {
	inputs, err := Read([]string{"../../../example/profiles"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	report := Run(Options{}, inputs)
	if report.Documents < 20 {
		t.Errorf("%d documents were checked", report.Documents)
	}
	for _, f := range report.Findings {
		t.Error(f.Error())
	}
}

// TestGardenerVersions checks warnings that apply to only one generation of Gardener.
func TestGardenerVersions(t *testing.T) {
	const profile = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: acme}
providers: [acme]
%s
controlplane:
  kube-scheduler:
  - when: ${ shoot.kubernetes.satisfies("< 1.31") }
    flags: {set: {v: "3"}}
controlplaneexposure:
  kube-apiserver-service:
  - annotations: {set: {a: b}}
`
	for _, c := range []struct {
		name, gardener string
		want           []source.LintRule
	}{
		{name: "a profile without versions of Gardener", want: []source.LintRule{source.NeverApplies, "no-effect"}},
		{name: "a profile for today's versions", gardener: `gardener: ">= 1.96"`, want: []source.LintRule{source.NeverApplies, "no-effect"}},
		{name: "a profile for both generations", gardener: `gardener: ">= 1.0"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := fmt.Sprintf(profile, c.gardener)
			report := Run(Options{}, []Input{{File: source.File{Name: "profile.yaml", Data: []byte(text)}}})
			var got []string
			for _, f := range report.Findings {
				got = append(got, string(f.Rule))
			}
			var want []string
			for _, rule := range c.want {
				want = append(want, string(rule))
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
