// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestMaximumRules loads a profile with as many rules as are allowed. BenchmarkRules shows how the time grows with their number.
func TestMaximumRules(t *testing.T) {
	loadRules(t, manyRules(profile.MaximumRules))
}

// BenchmarkRules loads a profile with as many rules as are allowed, and one with an eighth of them. If the larger one takes
// 64 times as long, each rule is compared with all others in full.
func BenchmarkRules(b *testing.B) {
	for _, count := range []int{profile.MaximumRules / 8, profile.MaximumRules} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for text := manyRules(count); b.Loop(); {
				loadRules(b, text)
			}
		})
	}
}

// manyRules returns a profile with this number of rules for one object, so that each can be compared with all others. Every
// second one has a condition, and every fourth a computed value.
func manyRules(count int) string {
	var text strings.Builder
	text.WriteString("apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\nmetadata: {name: many}\nproviders: [acme]\n" +
		"variables:\n  old: ${ shoot.kubernetes.satisfies(\"< 1.33\") }\ncontrolplane:\n  kube-controller-manager:\n")
	for i := range count / 4 {
		fmt.Fprintf(&text, "  - annotations: {set: {acme.com/a%d: \"%d\"}}\n", i, i)
		fmt.Fprintf(&text, "  - labels: {set: {acme.com/l%d: x}}\n    when: ${ variables.old }\n", i)
		fmt.Fprintf(&text, "  - env: {set: {E%d: '${ object.metadata.name + \"-%d\" }'}}\n", i, i)
		fmt.Fprintf(&text, "  - annotations: {set: {acme.com/a%d: other}}\n    when: ${ !variables.old }\n", i)
	}
	return text.String()
}

// loadRules parses and compiles a profile, and fails the test if that fails.
func loadRules(t testing.TB, text string) {
	t.Helper()
	documents, findings := profile.Load(source.File{Name: "many.yaml", Data: []byte(text)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	if _, err := compiler.Compile(documents, compiler.Options{Kubernetes: elsewhere}); err != nil {
		t.Fatal(err)
	}
}
