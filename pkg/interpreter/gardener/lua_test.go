// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package gardener_test

import (
	"encoding/json"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
	"github.com/graft-provider/gardener-extension-provider-graft/test/lua/luatest"
)

// scripts are the profiles in Lua.
func scripts(t *testing.T) map[interpreter.Kind]lua.Customizations {
	t.Helper()
	documents, err := gardener.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	customizations, findings := lua.Translate(documents, lua.Options{})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	all := map[interpreter.Kind]lua.Customizations{}
	for i, c := range customizations {
		all[interpreter.KindOf(c.Spec.Target.APIVersion, c.Spec.Target.Kind)] = customizations[i].Spec.Customizations
	}
	return all
}

// part is which part of many combinations is tried: each value of a field still meets each of another, as no field has a multiple of it.
const part = 7

// TestHealthInLua does the same as TestHealth for the Lua scripts: for all combinations, or for a part of many.
func TestHealthInLua(t *testing.T) {
	all := scripts(t)
	machine, err := luatest.New()
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	machine.Keep = true
	for _, kind := range kinds() {
		t.Run(kind.Kind.Kind, func(t *testing.T) {
			seen, count, every := map[bool]int{}, 0, 1
			each(kind.fields, nil, func(object) { count++ })
			if count > 10000 {
				every = part
			}
			count = 0
			each(kind.fields, object{"apiVersion": kind.Group + "/" + kind.Version, "kind": kind.Kind.Kind}, func(o object) {
				if count++; count%every != 0 {
					return
				}
				raw := listed(t, o)
				read := kind.newObject()
				if err := json.Unmarshal(raw, read); err != nil {
					t.Fatal(err)
				}
				want := kind.check(read)
				answer, err := machine.Answer(all[kind.Kind], interpreter.Request{Operation: interpreter.Health, Kind: kind.Kind, Object: raw})
				if err != nil || *answer.Healthy != want {
					t.Fatalf("%s: got %v, want healthy %t as in %s", raw, err, want, kind.checks)
				}
				seen[want]++
			})
			if seen[true] < 5 || seen[false] < 100 {
				t.Errorf("seen are %v", seen)
			}
		})
	}
}
