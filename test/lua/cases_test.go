// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package lua_test runs the cases of interpreter profiles, as graft test does, on the customizations in Lua that are
// written from the same profiles.
package lua_test

import (
	"context"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	cases "github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/test/lua/luatest"
)

// versions are those of the groups in the cases whose rules are for all versions.
var versions = map[string][]string{"acme.com": {"v1", "v1alpha1", "v1beta1", "v2"}}

// TestCases checks that the questions of the cases have the same answers in Lua.
func TestCases(t *testing.T) {
	questions, err := cases.Questions(context.Background(), "../../example/interpreter",
		"../../pkg/workbench/golden/interpreter/testdata/passing")
	if err != nil {
		t.Fatal(err)
	}
	pairs := map[string]*luatest.Pair{}
	for _, q := range questions {
		key := summary(q.Documents)
		if pairs[key] == nil {
			pair, findings := luatest.NewPair(q.Documents, lua.Options{Versions: versions})
			if pair == nil {
				t.Fatal(findings)
			}
			t.Cleanup(pair.Close)
			pairs[key] = pair
		}
		if q.Request.Operation == interpreter.Components && revised(q.Documents, q.Request.Kind) {
			continue // there is no script for components of a kind that is revised
		}
		diff, err := pairs[key].Difference(q.Request)
		if err != nil || diff != "" {
			t.Errorf("%s: %s: %v\n%s", q.Position, q.Case, err, diff)
		}
	}
	if len(questions) < 30 {
		t.Errorf("only %d questions were asked", len(questions))
	}
}

// revised reports whether documents revise a kind.
func revised(documents []*profile.Interpreter, kind interpreter.Kind) bool {
	program, _ := rule.Compile(documents)
	return program.Supports(kind, interpreter.Revise)
}

// summary names documents.
func summary(documents []*profile.Interpreter) string {
	var all strings.Builder
	for _, d := range documents {
		all.WriteString(d.Summary() + " ")
	}
	return all.String()
}
