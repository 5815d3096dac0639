// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profiles_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// rulesOf are the rules of a profile by set.
func rulesOf(d *profile.Document) map[target.Set]v1alpha1.Set {
	return map[target.Set]v1alpha1.Set{
		target.ControlPlane: d.ControlPlane, target.Exposure: d.ControlPlaneExposure, target.Backup: d.ControlPlaneBackup,
	}
}

// profilesOf are the documents of a provider: that for today's Gardener first, and that for the older generation where
// there is one.
func profilesOf(t *testing.T, provider string) []string {
	t.Helper()
	older, err := filepath.Glob(filepath.Join(root, provider, "legacy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{filepath.Join(root, provider, "profile.yaml")}, older...)
}

// checkRules checks that every rule changes an object in some case.
func checkRules(t *testing.T, all shown) {
	t.Helper()
	for _, provider := range providers(t) {
		for _, path := range profilesOf(t, provider) {
			for set, entries := range rulesOf(golden.Load(t, path)[0]) {
				for _, entry := range entries {
					for _, rule := range entry.Rules {
						if !all.changes(provider, rule) {
							t.Errorf("%s: %s: no case covers the rule %q of %s", path, set, rule.Name, entry.Target)
						}
					}
				}
			}
		}
	}
}

// changes reports whether a rule changes an object in some case.
func (s shown) changes(provider string, rule v1alpha1.Rule) bool {
	for _, outcomes := range s[provider] {
		if outcomes[rule.At.Position().String()] == mutation.Changed {
			return true
		}
	}
	return false
}

// TestNames checks that each rule of an example has a name that is unique in its target.
func TestNames(t *testing.T) {
	for _, provider := range providers(t) {
		for _, path := range profilesOf(t, provider) {
			for set, entries := range rulesOf(golden.Load(t, path)[0]) {
				for _, entry := range entries {
					seen := map[string]bool{}
					for _, rule := range entry.Rules {
						if rule.Name == "" || seen[rule.Name] {
							t.Errorf("%s: %s: a rule of %s has no name, or that of another: %q", path, set, entry.Target, rule.Name)
						}
						seen[rule.Name] = true
					}
				}
			}
		}
	}
}

// older are parts of warnings about rules that are there for older generations: those of OpenStack for the Service, and
// those for versions of Kubernetes before 1.31.
var older = []string{
	"do not allow changes of the Service of the kube-apiserver",
	"is false in all versions of Kubernetes that are served, 1.31 to",
}

// TestExamplesFitTogether checks that all examples can be installed together, without deprecated parts.
func TestExamplesFitTogether(t *testing.T) {
	var paths []string
	for _, provider := range providers(t) {
		paths = append(paths, profilesOf(t, provider)[0])
	}
	program := golden.Compile(t, compiler.Options{Generation: contract.Today}, paths...)
	for _, warning := range program.Warnings() {
		if !slices.ContainsFunc(older, func(part string) bool { return strings.Contains(warning.Message, part) }) {
			t.Error(warning)
		}
	}
}
