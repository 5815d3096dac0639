// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// smallMemory is how much a profile that is refused, or an object that is denied, may take.
const smallMemory = 64 << 20

// compileVariables compiles a profile that writes its last variable into an annotation.
func compileVariables(t *testing.T, last string, variables ...string) (*mutation.Program, error) {
	t.Helper()
	text := `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: variables}
providers: [acme]
variables:
` + strings.Join(variables, "\n") + `
controlplane:
  kube-controller-manager:
  - annotations: {set: {acme.com/value: "${ variables.` + last + ` }"}}
`
	documents, findings := profile.Load(source.File{Name: "p.yaml", Data: []byte(text)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	return compiler.Compile(documents, compiler.Options{Kubernetes: elsewhere})
}

// TestChainedVariables rejects a profile with variables that double in size, at the first one that is too large on a
// sample. Computing thirty of them would take 2 GiB.
func TestChainedVariables(t *testing.T) {
	variables := []string{`  v0: ${ object.metadata.name + "x" }`}
	for i := range 30 {
		variables = append(variables, fmt.Sprintf("  v%d: ${ variables.v%d + variables.v%[2]d }", i+1, i))
	}
	runtime.GC()
	before, peak := heap(), watchHeap(t)
	_, err := compileVariables(t, "v30", variables...)
	if grown := peak() - before; grown > smallMemory {
		t.Errorf("evaluation took too much memory: %d MiB", grown>>20)
	}
	var problems source.Findings
	if !errors.As(err, &problems) || !strings.Contains(err.Error(), "p.yaml:24:") || !strings.Contains(err.Error(), "the value is too large") {
		t.Errorf("want a finding in the line of variables.v18, got %v", err)
	}
}

// TestLargeAnnotation denies an object with an annotation that makes a variable too large, with the position of the
// variable.
func TestLargeAnnotation(t *testing.T) {
	program, err := compileVariables(t, "joined",
		`  annotation: ${ object.metadata.annotations["a"] }`,
		`  joined: ${ variables.annotation.split(",").map(p, p + "=" + variables.annotation).join(";") }`)
	if err != nil {
		t.Fatal(err)
	}
	object, err := json.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"name": "kube-controller-manager", "annotations": map[string]any{"a": strings.Repeat("a,", 100<<10)},
		},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "kube-controller-manager"}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := facts.FromCluster([]byte(fuzzedCluster))
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	before, peak := heap(), watchHeap(t)
	_, err = program.Admit(context.Background(), mutation.Request{
		Set: target.ControlPlane, Provider: "acme", Operation: "CREATE", Namespace: "n", Name: "kube-controller-manager",
		Group: "apps", Version: "v1", Kind: "Deployment", Object: object,
	}, &facts.Static{Facts: found})
	if grown := peak() - before; grown > smallMemory {
		t.Errorf("evaluation took too much memory: %d MiB", grown>>20)
	}
	var failure *mutation.Failure
	if !errors.As(err, &failure) || failure.Reason != mutation.ExpressionFailed ||
		!strings.Contains(err.Error(), "p.yaml:7:") {
		t.Errorf("want a denial with the position of the variable, got %v", err)
	}
}
