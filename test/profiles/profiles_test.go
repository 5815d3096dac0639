// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package profiles_test tests the example profiles with control planes that Gardener's own component code writes, for
// every supported version of Kubernetes and kind of shoot, and with those of the older generation. README.md explains
// how to add a provider.
package profiles_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// root is the folder of the example profiles.
var root = filepath.Join("..", "..", "example", "profiles")

// shown has the outcomes of each golden file, by provider and file, for TestMutations.
type shown map[string]map[string]map[string]mutation.Outcome

// TestProfiles compares the patches of each profile in each of its cases with the golden files, and checks that a
// second admission changes nothing and that the rows of the table of mutations are shown by rules and cases.
func TestProfiles(t *testing.T) {
	all := shown{}
	for _, provider := range providers(t) {
		t.Run(provider, func(t *testing.T) { all[provider] = runSuite(t, provider) })
	}
	t.Run("mutations", func(t *testing.T) { checkMutations(t, all) })
	t.Run("rules", func(t *testing.T) { checkRules(t, all) })
}

func runSuite(t *testing.T, provider string) map[string]map[string]mutation.Outcome {
	t.Helper()
	s := readSuite(t, provider)
	first := &s.Cases[0]
	known := &texts{file: first.golden(first.Kubernetes[0]), first: map[string]string{}}
	if s.Whole {
		known = nil
	}
	outcomes := map[string]map[string]mutation.Outcome{}
	for i := range s.Cases {
		c := &s.Cases[i]
		for _, version := range c.Kubernetes {
			name := c.golden(version)
			t.Run(name, func(t *testing.T) {
				r := newRun(t, c, provider, version)
				got := r.all(c.subjects(t, version), known)
				golden.Compare(t, filepath.Join("testdata", provider, name+".txt"), got)
				if r.denied != c.Denied {
					t.Errorf("an object is denied: %t, want %t", r.denied, c.Denied)
				}
				outcomes[name] = r.outcomes
			})
			if known != nil {
				known.closed = true
			}
		}
	}
	return outcomes
}

// compiled keeps programs, as many cases have the same.
var compiled = map[string]*mutation.Program{}

// newRun compiles the profile with the parameters of the case.
func newRun(t *testing.T, c *testCase, provider, version string) *run {
	t.Helper()
	path := filepath.Join(root, provider, c.Profile)
	key := fmt.Sprintf("%s %v %v", path, c.generation(), c.Parameters)
	program, ok := compiled[key]
	if !ok {
		program = c.compile(t, path)
		compiled[key] = program
	}
	r := &run{t: t, program: program, provider: program.Profiles()[0].Providers[0],
		outcomes: map[string]mutation.Outcome{}}
	for _, registration := range program.Registrations() {
		if registration.Provider == r.provider {
			r.sets = append(r.sets, registration.Set)
		}
	}
	r.facts = c.facts(t, r.provider, version)
	return r
}

func (c *testCase) compile(t *testing.T, path string) *mutation.Program {
	t.Helper()
	documents := golden.Load(t, path)
	overrides := profile.Parameters{documents[0].Metadata.Name: c.overrides(t)}
	if err := overrides.Override(documents).Err(); err != nil {
		t.Fatal(err)
	}
	program, err := compiler.Compile(documents, compiler.Options{Generation: c.generation()})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// overrides are the parameters as an installation writes them.
func (c *testCase) overrides(t *testing.T) map[string]source.Node {
	t.Helper()
	if len(c.Parameters) == 0 {
		return nil
	}
	data, err := yaml.Marshal(c.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	nodes, findings := source.Parse(source.File{Name: "cases.yaml", Data: data})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	values := map[string]source.Node{}
	for _, field := range nodes[0].Fields() {
		values[field.Key.Value] = field.Value
	}
	return values
}
