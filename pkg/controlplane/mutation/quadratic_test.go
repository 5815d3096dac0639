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

// TestQuadraticRule checks that a rule which compares all pairs of items of a large object is stopped by its cost, with its place. Without the
// limit of cost, it took 9.5 s and 544 MB for this object.
func TestQuadraticRule(t *testing.T) {
	const (
		size       = 813 << 10
		mostMemory = 64 << 20
	)
	documents, findings := profile.Load(source.File{Name: "quadratic.yaml", Data: []byte(`apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: quadratic}
providers: [acme]
controlplane:
  kube-controller-manager:
  - annotations: {set: {acme.com/a: b}}
    when: ${ object.spec.template.spec.containers[0].env.all(a, object.spec.template.spec.containers[0].env.exists(b, a.name == b.name)) }
`)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	program, err := compiler.Compile(documents, compiler.Options{Kubernetes: elsewhere})
	if err != nil {
		t.Fatal(err)
	}
	var env []any
	for i := range size / 40 {
		env = append(env, map[string]any{"name": fmt.Sprintf("NAME_%06d", i), "value": strings.Repeat("x", 6)})
	}
	object, err := json.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "kube-controller-manager"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "kube-controller-manager", "env": env}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(object) < size {
		t.Fatalf("the object has %d bytes, want %d", len(object), size)
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
	grown := peak() - before
	var failure *mutation.Failure
	if !errors.As(err, &failure) || failure.Reason != mutation.ExpressionFailed || !strings.Contains(err.Error(), "too costly") ||
		!strings.Contains(err.Error(), "quadratic.yaml:8") {
		t.Errorf("want a denial with the cost and the position, got %v", err)
	}
	if grown > mostMemory {
		t.Errorf("the admission took too much memory: %d MiB", grown>>20)
	}
	t.Logf("it has taken %d MiB", grown>>20)
}
