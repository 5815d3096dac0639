// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package permission_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/permission"
)

var options = permission.Options{Name: "graft", Namespace: "extension"}

// TestCases compares the permissions of profiles with the rules and values next to them.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases, %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			var c struct {
				Profile string
				// Seed, Own and Elsewhere are the rules in addition to those of every installation.
				Seed, Own []rbacv1.PolicyRule
				Elsewhere map[string][]rbacv1.PolicyRule
				Values    permission.Values
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict(data, &c); err != nil {
				t.Fatal(err)
			}
			program := compile(t, c.Profile)
			base := map[string][]rbacv1.PolicyRule{}
			for _, role := range permission.Roles(compile(t, ""), options) {
				base[role.Namespace] = role.Rules
			}
			elsewhere := map[string][]rbacv1.PolicyRule{}
			var seed, own []rbacv1.PolicyRule
			for _, role := range permission.Roles(program, options) {
				beside := slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
					return slices.ContainsFunc(base[role.Namespace], func(b rbacv1.PolicyRule) bool { return cmp.Equal(r, b) })
				})
				switch role.Namespace {
				case "":
					seed = beside
				case options.Namespace:
					own = beside
				default:
					elsewhere[role.Namespace] = beside
				}
			}
			for name, pair := range map[string][2]any{
				"seed": {norm(c.Seed), norm(seed)}, "own": {norm(c.Own), norm(own)}, "values": {c.Values, permission.ValuesOf(program)},
			} {
				if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
					t.Errorf("%s (-want +got)\n%s", name, diff)
				}
			}
			if len(c.Elsewhere)+len(elsewhere) > 0 {
				if diff := cmp.Diff(c.Elsewhere, elsewhere); diff != "" {
					t.Errorf("elsewhere (-want +got)\n%s", diff)
				}
			}
		})
	}
}

func norm(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	return append([]rbacv1.PolicyRule{}, rules...)
}

// TestSecrets checks that only the role of the own namespace permits unnamed Secrets.
func TestSecrets(t *testing.T) {
	for _, role := range permission.Roles(compile(t, ""), options) {
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if resource == "secrets" && role.Namespace != options.Namespace || resource == "*" {
					t.Errorf("in the namespace %q: %v", role.Namespace, rule)
				}
			}
		}
	}
}

// compile makes a program of a profile; of one without lookups where there is none.
func compile(t *testing.T, text string) *mutation.Program {
	t.Helper()
	if text == "" {
		text = `{apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1, kind: ProviderProfile, metadata: {name: none}, providers: [acme],
			controlplane: {kube-apiserver: [{flags: {set: {v: "3"}}}]}}`
	}
	documents, findings := profile.Load(source.File{Name: "profile.yaml", Data: []byte(text)})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	program, err := compiler.Compile(documents, compiler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return program
}
