// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua_test

import (
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestFindings checks that each untranslatable part is reported once, and that no script is written then.
func TestFindings(t *testing.T) {
	folder := "testdata/findings/names"
	documents, findings := profile.LoadInterpreters(golden.Read(t, filepath.Join(folder, "profile.yaml")))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	customizations, findings := lua.Translate(documents, lua.Options{})
	if len(customizations) > 0 {
		t.Errorf("%d customizations are written", len(customizations))
	}
	var out strings.Builder
	for _, f := range findings {
		out.WriteString(f.Error() + " [" + f.Severity.String() + " " + string(f.Rule) + "]\n")
	}
	golden.Compare(t, filepath.Join(folder, "want.txt"), out.String())
}

// TestScripts checks the generated customizations.
func TestScripts(t *testing.T) {
	folder := "testdata/scripts/queue"
	documents, findings := profile.LoadInterpreters(golden.Read(t, filepath.Join(folder, "profile.yaml")))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	customizations, findings := lua.Translate(documents, lua.Options{Versions: map[string][]string{"acme.com": {"v1"}, "other.com": {"v2"}}})
	if len(findings) > 0 || len(customizations) != 1 {
		t.Fatalf("%d customizations, %v", len(customizations), findings)
	}
	raw, err := yaml.Marshal(customizations[0])
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join(folder, "want.yaml"), string(raw))
}

// TestKinds checks that each of Gardener's kinds has a script for each operation with rules.
func TestKinds(t *testing.T) {
	documents, err := gardener.Profiles(gardener.Optional()...)
	if err != nil {
		t.Fatal(err)
	}
	customizations, findings := lua.Translate(documents, lua.Options{})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	scripts := 0
	for _, c := range customizations {
		if c.Spec.Customizations.Of(interpreter.Prune) != nil {
			t.Errorf("%s has a script for prune, which Karmada has not", c.Metadata.Name)
		}
		for _, o := range interpreter.Operations() {
			if c.Spec.Customizations.Of(o) != nil {
				scripts++
			}
		}
	}
	if len(customizations) < 15 || scripts < 60 {
		t.Errorf("there are %d customizations with %d scripts", len(customizations), scripts)
	}
}
