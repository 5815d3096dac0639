// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// FuzzCompile checks that any bytes give a program or findings with positions, and never a panic. A partly decoded
// document is compiled, too, as graft lint does.
func FuzzCompile(f *testing.F) {
	golden.Seeds(f, "testdata/refused/*/profile.yaml", "testdata/admit/*/profile.yaml", "../../workbench/lint/testdata/duplicates/ProviderProfile.yaml")
	f.Add([]byte(`{"apiVersion":"graft.provider.extensions.gardener.cloud/v1alpha1","kind":"ProviderProfile","metadata":{"name":"a"},"providers":["a"],` +
		`"providers":["a","b"],"controlplane":{"kube-apiserver":[{"flags":{"remove":["a"],"remove":["a","b"]},"flags":{"remove":["c"],"set":{"d":"e"}}}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		documents, findings := profile.Load(source.File{Name: "f", Data: data})
		var problems source.Findings
		if _, err := compiler.Compile(documents, compiler.Options{Kubernetes: elsewhere}); err != nil && !errors.As(err, &problems) {
			t.Fatalf("the error has no findings: %v", err)
		}
		for _, finding := range append(findings, problems...) {
			if finding.File == "" || finding.Message == "" {
				t.Errorf("finding without place or message: %+v", finding)
			}
		}
	})
}

// FuzzAdmit checks for any object that it is denied with a reason or gets a valid patch, and that a second admission
// changes nothing.
func FuzzAdmit(f *testing.F) {
	paths, _ := filepath.Glob("testdata/admit/*/request.yaml")
	for _, path := range paths {
		if raw := objectOf(f, path); raw != nil {
			f.Add(raw)
		}
	}
	program := compileAll(f)
	found, err := facts.FromCluster([]byte(fuzzedCluster))
	if err != nil {
		f.Fatal(err)
	}
	admit := func(t *testing.T, object []byte) []byte {
		result, err := program.Admit(context.Background(), mutation.Request{
			Set: target.ControlPlane, Provider: "acme", Operation: "UPDATE", Namespace: "n", Name: "kube-controller-manager",
			Group: "apps", Version: "v1", Kind: "Deployment", Object: object,
		}, &facts.Static{Facts: found})
		var failure *mutation.Failure
		switch {
		case errors.As(err, &failure):
			if failure.Reason == mutation.Internal || failure.Code() == 0 || failure.Message == "" {
				t.Fatalf("the failure is not explained: %+v", failure)
			}
			return nil
		case err != nil:
			t.Fatalf("the error is no failure: %v", err)
		}
		return result.Patch
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		patch := admit(t, object)
		if patch == nil {
			return
		}
		decoded, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			t.Fatalf("the patch is no patch: %v\n%s", err, patch)
		}
		patched, err := decoded.Apply(object)
		if err != nil {
			t.Fatalf("the patch cannot be applied: %v\n%s", err, patch)
		}
		if again := admit(t, patched); again != nil {
			t.Fatalf("the object is changed again:\n%s\nthen\n%s", patch, again)
		}
	})
}

const fuzzedCluster = `{"apiVersion":"extensions.gardener.cloud/v1alpha1","kind":"Cluster","metadata":{"name":"n"},"spec":{
	"shoot":{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","metadata":{"name":"s"},"spec":{"region":"r","kubernetes":{"version":"1.33.1"}}}}}`

// compileAll is a program of one rule of each kind for the kube-controller-manager.
func compileAll(f *testing.F) *mutation.Program {
	f.Helper()
	const text = `
apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: p}
providers: [acme]
controlplane:
  kube-controller-manager:
  - flags: {set: {cloud-provider: external, repeated: [a, b]}, remove: [cloud-config]}
  - featureGates: {A: true, B: null}
  - mapFlags: {runtime-config: {set: {x: y}}}
  - env: {set: {A: "${ shoot.region }", S: {secretKeyRef: {name: s, key: k}}}, remove: [B]}
  - volumes: {set: {v: {secret: {secretName: s}, mount: {mountPath: /v}}}, remove: [w]}
  - containers: {set: {sidecar: {image: i, env: [{name: E, value: e}], resources: {requests: {cpu: 100m}}}}, remove: [gone]}
  - fields: {set: {'spec.template.spec.initContainers[name=init]': {image: i}}}
  - labels: {set: {a: b}, remove: [c]}
  - annotations: {set: {a: b}}
  - podLabels: {set: {a: b}}
  - podAnnotations: {remove: [a]}
`
	documents, findings := profile.Load(source.File{Name: "p", Data: []byte(text)})
	if len(findings) > 0 {
		f.Fatal(findings)
	}
	program, err := compiler.Compile(documents, compiler.Options{Generation: contract.Today, Kubernetes: elsewhere})
	if err != nil {
		f.Fatal(err)
	}
	return program
}

// objectOf is the object of a request.yaml as JSON.
func objectOf(f *testing.F, path string) []byte {
	f.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	nodes, findings := source.Parse(source.File{Name: path, Data: data})
	if len(findings) > 0 {
		f.Fatal(findings)
	}
	var r struct {
		Object map[string]any `yaml:"object"`
	}
	if err := nodes[0].Decode(&r); err != nil || r.Object == nil {
		return nil
	}
	raw, err := json.Marshal(r.Object)
	if err != nil {
		f.Fatal(err)
	}
	return raw
}
