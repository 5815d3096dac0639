// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/catalog"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/controlplane"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/interpreter"
)

// providerProfile is checked as the webhook does when it loads profiles.
var providerProfile = Kind{
	APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindProviderProfile, Heads: true,
	Check: func(o Options, parts []profile.Part, known source.Findings) source.Findings {
		documents, findings := profile.Decode(parts, known)
		if o.Override != nil {
			findings = append(findings, source.FindingsOf(source.Node{}, "", o.Override(documents)).Of(source.WrongValue)...)
		}
		options := mutation.Options{Generation: o.Generation, Kubernetes: o.Kubernetes, ImageOverwrite: o.ImageOverwrite}
		_, problems := mutation.Check(documents, options)
		return append(findings, inBoth(documents, options, problems)...)
	},
}

// inBoth drops warnings about profiles that name both generations of Gardener if they hold for one of these only.
func inBoth(documents []*profile.Document, o mutation.Options, found source.Findings) source.Findings {
	both := map[string]bool{}
	for _, d := range documents {
		both[d.Node.File] = d.Gardener != "" && contract.Today.For(d.Gardener) && contract.Labelled.For(d.Gardener)
	}
	if o.Generation == contract.Labelled || !slices.ContainsFunc(found, func(f source.Finding) bool { return both[f.File] }) {
		return found
	}
	o.Generation = contract.Labelled
	_, older := mutation.Check(documents, o)
	return slices.DeleteFunc(found, func(f source.Finding) bool {
		return f.Severity == source.Warning && both[f.File] && !slices.ContainsFunc(older, func(other source.Finding) bool {
			return other.Position == f.Position && other.Rule == f.Rule
		})
	})
}

// networkProfile is checked as graft-network-provider does when it loads profiles, as far as that needs no files of its machine.
var networkProfile = Kind{
	APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindNetworkProfile, Heads: true,
	Check: func(_ Options, parts []profile.Part, known source.Findings) source.Findings {
		documents, findings := profile.DecodeNetworks(parts, known)
		_, problems := policy.Compile(documents)
		problems = append(problems, catalog.Check(policy.Clouds(documents))...)
		return append(findings, problems.Beyond(findings)...)
	},
}

// interpreterProfile is checked as in graft-resource-interpreter. Kinds that the server only leaves unregistered are
// errors here.
var interpreterProfile = Kind{
	APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindInterpreterProfile, Heads: true,
	Check: func(_ Options, parts []profile.Part, known source.Findings) source.Findings {
		documents, findings := profile.DecodeInterpreters(parts, known)
		_, problems := rule.Compile(documents)
		for i := range problems {
			if problems[i].Rule == rule.ComponentsRevised {
				problems[i].Severity = source.Error
			}
		}
		return append(findings, problems.Beyond(findings)...)
	},
}

// providerProfileTest is checked as graft test does when it reads tables.
var providerProfileTest = Kind{
	APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindProviderProfileTest,
	Check: checkTable(func(table source.Node) source.Findings {
		_, problems := controlplane.New(nil).Table(table)
		return problems
	}),
}

// interpreterProfileTest is checked in the same way.
var interpreterProfileTest = Kind{
	APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindInterpreterProfileTest,
	Check: checkTable(func(table source.Node) source.Findings {
		_, problems := interpreter.New().Table(table)
		return problems
	}),
}

// checkTable checks tables of tests one by one.
func checkTable(read func(source.Node) source.Findings) func(Options, []profile.Part, source.Findings) source.Findings {
	return func(_ Options, parts []profile.Part, known source.Findings) source.Findings {
		findings := known
		for _, part := range parts {
			findings = append(findings, read(part.Node).Of(WrongTest).Beyond(known)...)
		}
		return findings
	}
}

// WrongTest is a table of tests that cannot be run as it is written.
const WrongTest source.Rule = "wrong-test"

// controllerConfiguration is checked as the program does when it starts.
var controllerConfiguration = Kind{
	APIVersion: configv1alpha1.GroupVersion.String(), Kind: configv1alpha1.KindControllerConfiguration, Heads: true,
	Check: checkConfiguration(func(file source.File) error {
		_, err := configv1alpha1.DecodeControllerConfiguration(file)
		return err
	}),
}

// networkProviderConfiguration is checked as graft-network-provider does when it starts.
var networkProviderConfiguration = Kind{
	APIVersion: configv1alpha1.GroupVersion.String(), Kind: configv1alpha1.KindNetworkProviderConfiguration, Heads: true,
	Check: checkConfiguration(func(file source.File) error {
		_, err := configv1alpha1.DecodeNetworkProviderConfiguration(file)
		return err
	}),
}

// resourceInterpreterConfiguration is checked as graft-resource-interpreter does when it starts.
var resourceInterpreterConfiguration = Kind{
	APIVersion: configv1alpha1.GroupVersion.String(), Kind: configv1alpha1.KindResourceInterpreterConfiguration, Heads: true,
	Check: checkConfiguration(func(file source.File) error {
		config, err := configv1alpha1.DecodeResourceInterpreterConfiguration(file)
		if err != nil {
			return err
		}
		return optionalProfiles(file, config.Profiles.Optional).Err()
	}),
}

// optionalProfiles finds names of profiles of Gardener that there are not.
func optionalProfiles(file source.File, names []string) source.Findings {
	var findings source.Findings
	documents, _ := source.Parse(file)
	for _, document := range documents {
		for i, node := range document.Get("profiles").Get("optional").Items() {
			known := gardener.Optional()
			if i < len(names) && !slices.Contains(known, names[i]) {
				finding := node.Finding(fmt.Sprintf("profiles.optional[%d]", i), "there is no optional profile %q of Gardener%s; there are %s", names[i],
					source.Suggest(names[i], known), strings.Join(known, ", "))
				findings = append(findings, finding.Of(source.WrongValue).Instead(node, known))
			}
		}
	}
	return findings
}

// checkConfiguration checks the files of configurations, each once.
func checkConfiguration(decode func(source.File) error) func(Options, []profile.Part, source.Findings) source.Findings {
	return func(_ Options, parts []profile.Part, known source.Findings) source.Findings {
		findings := known
		seen := map[string]bool{}
		for _, part := range parts {
			if seen[part.File.Name] {
				continue
			}
			seen[part.File.Name] = true
			findings = append(findings, slices.DeleteFunc(source.FindingsOf(part.Node, "", decode(part.File)), func(f source.Finding) bool {
				return slices.ContainsFunc(known, func(k source.Finding) bool { return k.Error() == f.Error() })
			})...)
		}
		return findings
	}
}
