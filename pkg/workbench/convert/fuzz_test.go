// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/convert"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// FuzzPropose checks that any objects cause no panic, that a proposed profile can be loaded, and that an object that is
// reported as reproduced is equal to the result of the profile.
func FuzzPropose(f *testing.F) {
	befores, err := filepath.Glob("testdata/cases/*/before*.yaml")
	if err != nil || len(befores) == 0 {
		f.Fatalf("no test cases found: %v", err)
	}
	for _, before := range befores {
		was, err := os.ReadFile(before)
		if err != nil {
			f.Fatal(err)
		}
		is, err := os.ReadFile(strings.Replace(before, "before", "after", 1))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(was), string(is))
	}
	f.Fuzz(func(t *testing.T, was, is string) {
		const most = 8 << 10
		if len(was)+len(is) > most {
			return
		}
		before, findings := manifest.Parse(source.File{Data: []byte(was)})
		after, more := manifest.Parse(source.File{Data: []byte(is)})
		if len(findings)+len(more) > 0 {
			return
		}
		proposal, err := convert.Propose(t.Context(), before, after, convert.Options{Name: "acme", Provider: "acme"})
		if errors.Is(err, convert.ErrNoDifference) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(proposal.Missed) == 0 {
			holdReproduced(t, proposal, before, after)
		}
	})
}

// holdReproduced applies the profile on its own, and checks that there is nothing left to propose.
func holdReproduced(t *testing.T, proposal *convert.Proposal, before, after []manifest.Object) {
	t.Helper()
	documents, findings := profile.Load(source.File{Name: "profile.yaml", Data: proposal.Profile})
	if err := findings.Err(); err != nil {
		t.Fatalf("%v\n%s", err, proposal.Profile)
	}
	program, err := compiler.Compile(documents, compiler.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, proposal.Profile)
	}
	for i := range before {
		before[i].JSON = admit(t, program, before[i])
	}
	if again, err := convert.Propose(t.Context(), before, after, convert.Options{Name: "acme", Provider: "acme"}); !errors.Is(err, convert.ErrNoDifference) {
		t.Errorf("a second run proposes more (%v): %+v\n%s", err, again, proposal.Profile)
	}
}

// admit admits an object without other known objects in all sets.
func admit(t *testing.T, program *mutation.Program, object manifest.Object) []byte {
	t.Helper()
	raw := object.JSON
	version := object.APIVersion[strings.LastIndexByte(object.APIVersion, '/')+1:]
	for _, registration := range program.Registrations() {
		result, err := program.Admit(t.Context(), mutation.Request{
			Set: registration.Set, Provider: registration.Provider, Garden: registration.Garden, Operation: "CREATE",
			Namespace: object.Namespace, Name: object.Name, Group: object.Group(), Version: version, Kind: object.Kind, Object: raw,
		}, &facts.Static{Facts: anyFacts(t, object.Namespace)})
		if err != nil {
			t.Fatal(err)
		}
		if result.Patch == nil || registration.Garden != (object.Namespace == "garden") {
			continue
		}
		patch, err := jsonpatch.DecodePatch(result.Patch)
		if err != nil {
			t.Fatal(err)
		}
		if raw, err = patch.Apply(raw); err != nil {
			t.Fatal(err)
		}
	}
	return raw
}

func anyFacts(t *testing.T, namespace string) *facts.Facts {
	t.Helper()
	shoot, err := json.Marshal(map[string]any{
		"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "metadata": map[string]any{"name": "x"},
		"spec": map[string]any{"kubernetes": map[string]any{"version": "1.34.0"}, "provider": map[string]any{"type": "acme"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := facts.FromParts(namespace, nil, nil, shoot)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
