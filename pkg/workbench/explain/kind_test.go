// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestExamplesAreProfiles holds that each example is of a field that there is, and loads as a part of a profile.
func TestExamplesAreProfiles(t *testing.T) {
	head := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\nmetadata: {name: acme}\nproviders: [acme]\n"
	rules := "controlplane:\n  kube-scheduler:\n  - labels: {set: {a: b}}\n"
	k, _ := kindNamed("profile")
	for path, lines := range profileExamples {
		if found, err := k.schema().At(path); err != nil || strings.TrimSuffix(found.Path, "[]") != path {
			t.Errorf("%q: %+v %v", path, found, err)
		}
		text := strings.Join(lines, "\n") + "\n"
		if path != "" {
			text = head + text
		}
		if !strings.Contains(text, "\ncontrolplane") {
			text += rules
		}
		if _, findings := profile.Load(source.File{Name: path, Data: []byte(text)}); len(findings) > 0 {
			t.Errorf("%q: %s", path, findings)
		}
	}
}
