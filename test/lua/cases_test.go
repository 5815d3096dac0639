// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package lua_test runs the cases of interpreter profiles, as graft test does, on the customizations in Lua that are
// written from the same profiles.
package lua_test

import (
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	cases "github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/test/lua/luatest"
)

// versions are the versions of the groups in the cases whose rules are for all versions.
var versions = map[string][]string{"acme.com": {"v1", "v1alpha1", "v1beta1", "v2"}}

// questioner is a prepared case of interpreter profiles.
type questioner interface {
	Questions() ([]*profile.Interpreter, []interpreter.Request, error)
}

// TestCases checks that the questions of the cases have the same answers in Lua.
func TestCases(t *testing.T) {
	found, err := golden.Find([]golden.Tester{cases.New()}, "../../example/interpreter",
		"../../pkg/workbench/golden/interpreter/testdata/passing")
	if err != nil {
		t.Fatal(err)
	}
	if err := golden.Prepare(t.Context(), found.Cases); err != nil {
		t.Fatal(err)
	}
	asked, pairs := 0, map[string]*luatest.Pair{}
	for _, c := range found.Cases {
		documents, requests, err := c.Test.(questioner).Questions()
		if err != nil {
			t.Fatalf("%s: %v", c.ID(), err)
		}
		key := summary(documents)
		if pairs[key] == nil {
			pair, findings := luatest.NewPair(documents, lua.Options{Versions: versions})
			if pair == nil {
				t.Fatal(findings)
			}
			t.Cleanup(pair.Close)
			pairs[key] = pair
		}
		for _, request := range requests {
			asked++
			if request.Operation == interpreter.Components && revised(documents, request.Kind) {
				continue // there is no script for components of a kind that is revised
			}
			if diff, err := pairs[key].Difference(request); err != nil || diff != "" {
				t.Errorf("%s: %s, %s: %v\n%s", c.Position, c.ID(), request.Operation, err, diff)
			}
		}
	}
	if asked < 30 {
		t.Errorf("only %d questions were asked", asked)
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
