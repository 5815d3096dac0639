// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

const root = "../../.."

// TestEveryFindingHasARule checks that each finding in the rejected profiles of the engine's tests has a rule with a
// page.
func TestEveryFindingHasARule(t *testing.T) {
	seen := 0
	for _, pattern := range []string{"controlplane/mutation/testdata/refused", "controlplane/mutation/testdata/warned",
		"controlplane/mutation/testdata/versions", "network/policy/testdata/findings", "interpreter/rule/testdata/findings"} {
		for _, folder := range cases(t, filepath.Join(root, "pkg", filepath.FromSlash(pattern), "*")) {
			report := Run(Options{}, []Input{{File: golden.Read(t, filepath.Join(folder, "profile.yaml"))}})
			for _, f := range report.Findings {
				seen++
				if PageOf(f.Rule) == nil {
					t.Errorf("there is no page for the rule %q: %s", f.Rule, f.Error())
				}
			}
		}
	}
	if seen < 300 {
		t.Errorf("only %d findings were seen", seen)
	}
}

// TestEveryCallHasARule checks that each finding in the packages below profiles gets its rule where it is created.
func TestEveryCallHasARule(t *testing.T) {
	for _, below := range []string{"source", "profile", "apis/config", "controlplane/mutation", "controlplane/operation", "expression", "network/policy",
		"interpreter/rule"} {
		err := filepath.WalkDir(filepath.Join(root, "pkg", below), func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			checkCalls(t, name)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// checkCalls finds calls of Finding that nothing makes one of a rule.
func checkCalls(t *testing.T, name string) {
	t.Helper()
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ruled := map[ast.Expr]bool{}
	function := ""
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			function = n.Name.Name
		case *ast.CallExpr:
			selector, ok := n.Fun.(*ast.SelectorExpr)
			switch {
			case !ok:
			case selector.Sel.Name == "Of":
				ruled[selector.X] = true
			case selector.Sel.Name == "Finding" && !ruled[n] && !later[function]:
				t.Errorf("%s: the finding has no rule: say which, with .Of(…)", positions.Position(n.Pos()))
			}
		}
		return true
	})
}

// later are the functions that give a finding its rule further down.
var later = map[string]bool{"meant": true, "FindingsOf": true, "check": true, "condition": true, "misread": true}
