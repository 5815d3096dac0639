// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/convert"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/lua/luatest"
)

var update = flag.Bool("update", false, "write the profile that is wanted")

// TestProfile converts each common form and lists the omitted ones. The resulting profile compiles.
func TestProfile(t *testing.T) {
	customizations, err := os.ReadFile("testdata/widgets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, problems, err := convert.Profile("widgets", customizations)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Widget: statusAggregation: not converted; write its rules by hand",
		"Gadget: replicaResource: the script cannot be read: script at EOF:   syntax error\n",
		"Gadget: healthInterpretation: line 1: the call of len: not converted; write its rules by hand",
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("the problems (-want +got):\n%s", diff)
	}
	if *update {
		if err := os.WriteFile("testdata/widgets.profile.yaml", got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile("testdata/widgets.profile.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), string(got)); diff != "" {
		t.Errorf("the profile (-want +got):\n%s", diff)
	}
	documents, findings := profile.LoadInterpreters(source.File{Name: "widgets.yaml", Data: got})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	if _, findings := rule.Compile(documents); len(findings) > 0 {
		t.Error(findings)
	}
}

// TestEquivalence compares the rules with the scripts in Karmada's Lua machine.
func TestEquivalence(t *testing.T) {
	const head = `"apiVersion":"acme.com/v1","kind":"Widget","metadata":{"name":"a","generation":2}`
	object := func(rest string) []byte { return []byte("{" + head + rest + "}") }
	ready, degraded := `{"type":"Ready","status":"True"}`, `{"type":"Degraded","status":"True"}`
	objects := [][]byte{
		object(`,"spec":{"replicas":2}`),
		object(`,"spec":{"replicas":2,"volumeName":"v","paused":true}`),
		object(`,"spec":{"replicas":2},"status":{"observedGeneration":2}`),
		object(`,"spec":{"replicas":2},"status":{"observedGeneration":1,"readyReplicas":2,"conditions":[` + ready + `]}`),
		object(`,"spec":{"replicas":2},"status":{"observedGeneration":2,"readyReplicas":2,"conditions":[` + ready + `],"more":1}`),
		object(`,"spec":{"replicas":2},"status":{"observedGeneration":2,"readyReplicas":1,"conditions":[` + ready + `]}`),
		object(`,"spec":{"replicas":2},"status":{"observedGeneration":2,"readyReplicas":2,"conditions":[` + ready + "," + degraded + `]}`),
		object(`,"spec":{"replicas":2},"status":{"observedGeneration":2,"readyReplicas":2,"conditions":[{"type":"Ready","status":"False"}]}`),
	}
	text, err := os.ReadFile("testdata/widgets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	widgets, _, _ := bytes.Cut(text, []byte("\n---\n"))
	converted, _, err := convert.Profile("widgets", widgets)
	if err != nil {
		t.Fatal(err)
	}
	var scripts lua.Customization
	if err := yaml.Unmarshal(widgets, &scripts); err != nil {
		t.Fatal(err)
	}
	documents, findings := profile.LoadInterpreters(source.File{Name: "widgets.yaml", Data: converted})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	pair, findings := luatest.NewPairOf(documents, []lua.Customization{scripts})
	if pair == nil {
		t.Fatal(findings)
	}
	defer pair.Close()
	for i, o := range objects {
		for _, operation := range []interpreter.Operation{interpreter.Revise, interpreter.Retain, interpreter.Health, interpreter.Status} {
			diff, err := pair.Difference(interpreter.Request{
				Kind: interpreter.KindOf("acme.com/v1", "Widget"), Operation: operation, Object: o, Observed: objects[1], Replicas: 3,
			})
			if err != nil || diff != "" {
				t.Errorf("%s of object %d: %v\n%s", operation, i, err, diff)
			}
		}
	}
}

// TestWrong rejects documents that are not customizations.
func TestWrong(t *testing.T) {
	for name, text := range map[string]string{"another kind": "kind: Deployment\n", "no YAML": "a: [\n"} {
		t.Run(name, func(t *testing.T) {
			_, _, err := convert.Profile("a", []byte(text))
			if err == nil || name == "another kind" && !errors.Is(err, convert.ErrCustomization) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
