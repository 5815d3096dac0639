// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

const interpreterHead = "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: InterpreterProfile\n"

const interpreted = interpreterHead + `metadata: {name: acme}
kinds:
- apiVersion: acme.com/v1
  kind: Queue
  replicas: [{count: "${ object.spec.replicas }", requirements: {resourceRequest: {cpu: 1}}}]
  retain: [{fields: [spec.seedName], remove: [spec.old]}]
`

// TestLoadInterpreters checks the loaded form of an interpreter profile.
func TestLoadInterpreters(t *testing.T) {
	documents, problems := profile.LoadInterpreters(source.File{Name: "1.yaml", Data: []byte(interpreted)})
	if len(problems) > 0 || len(documents) != 1 {
		t.Fatalf("%d documents, %v", len(documents), problems)
	}
	d := documents[0]
	if len(d.Hash) != 12 || d.Summary() != "acme@"+d.Hash {
		t.Errorf("the summary is %s", d.Summary())
	}
	kind := d.Kinds[0]
	if kind.APIVersion.Value != "acme.com/v1" || kind.Replicas[0].Count.Value == "" ||
		kind.Replicas[0].Requirements.Get("resourceRequest").Get("cpu").Value != "1" {
		t.Errorf("the replicas are %+v", kind.Replicas)
	}
	if kind.Retain[0].Fields[0].Value != "spec.seedName" || kind.Retain[0].Remove[0].Value != "spec.old" {
		t.Errorf("unexpected retain rules: %+v", kind.Retain)
	}
}

// TestInterpretersRefused checks findings before the compilation.
func TestInterpretersRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an unknown operation is reported": {interpreterHead + "metadata: {name: a}\nkinds: [{kind: A, apiVersion: v1, helth: []}]\n",
			`1.yaml:4:35: kinds[0]: unknown field "helth" (did you mean "health"?)`},
		"a mapping for a list": {interpreterHead + "metadata: {name: a}\nkinds: [{kind: A, apiVersion: v1, health: {}}]\n",
			`1.yaml:4:43: kinds[0].health: must be a list, is a mapping`},
		"a number for a path": {interpreterHead + "metadata: {name: a}\nkinds: [{kind: A, apiVersion: v1, retain: [{fields: [1]}]}]\n",
			`1.yaml:4:54: kinds[0].retain[0].fields[0]: must be a string (put it in quotes), is "1"`},
		"a missing name is reported": {interpreterHead + "kinds: []\n", `1.yaml:1:1: metadata.name: is missing`},
		"another kind is reported": {"apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: InterpreterProfil\nmetadata: {name: a}\n",
			`1.yaml:2:7: kind: unknown kind "InterpreterProfil" (did you mean "InterpreterProfile"?): must be InterpreterProfile`},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := profile.LoadInterpreters(source.File{Name: "1.yaml", Data: []byte(c.text)})
			if diff := cmp.Diff(c.want, problems.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
