// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// FuzzMemory checks that any texts of the kubelet have the same result, or the same error, with and without the cache.
func FuzzMemory(f *testing.F) {
	for _, seed := range [][2]string{
		{"[Service]\nExecStart=/opt/bin/kubelet --v=2 $EXTRA\n", "kind: KubeletConfiguration\nmaxPods: 10\n"},
		{"[Service]\nExecStart=/opt/bin/kubelet \\\n    --feature-gates=A=true,B=false \\\n    --v=2\n", "kind: KubeletConfiguration\nfeatureGates: {A: false}\n"},
		{
			"[Service]\nExecStart=/opt/bin/kubelet --cloud-provider=external --region=r --feature-gates=A=true\nExecStartPre=/bin/true\n",
			"kind: KubeletConfiguration\nmaxPods: 50\n# é\n",
		},
		{"[Unit]\n", ""}, {"", "a: [\n"},
	} {
		f.Add(seed[0], seed[1], false)
		f.Add(seed[0], seed[1], true)
	}
	program := programOf(f, kubeletRules)
	source := inRegion(f, "r")
	f.Fuzz(func(t *testing.T, unit, configuration string, plain bool) {
		object := nodeWith(unit, configuration, plain)
		tell := func() string {
			result, err := program.Admit(context.Background(), nodeUpdate(object), source)
			if err != nil {
				return err.Error()
			}
			return fmt.Sprintf("%s %+v", result.Patch, result.Applied)
		}
		program.Forget()
		want := tell()
		for range 3 {
			if got := tell(); got != want {
				t.Fatalf("once\n%s\nand then\n%s", want, got)
			}
		}
	})
}

const kubeletRules = `
controlplane:
  kubelet:
  - flags: {set: {cloud-provider: external, region: "${ shoot.region }"}}
  - featureGates: {A: true, B: null}
  - unit: {section: Service, add: {ExecStartPre: /bin/true}}
    when: ${ shoot.region == "q" }
  - configuration: {set: {maxPods: 50}}
    when: ${ shoot.region != "r" }
`

func inRegion(t testing.TB, region string) *facts.Static {
	t.Helper()
	found, err := facts.FromCluster([]byte(strings.Replace(fuzzedCluster, `"region":"r"`, `"region":"`+region+`"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return &facts.Static{Facts: found}
}

// kubeletRequest is an update of an OperatingSystemConfig with a flag of the kubelet and more lines of its configuration.
func kubeletRequest(flag, more string) mutation.Request {
	return nodeUpdate(nodeWith("[Service]\nExecStart=/opt/bin/kubelet "+flag+"\n", "kind: KubeletConfiguration\n"+more+"\n", false))
}

func nodeUpdate(object []byte) mutation.Request {
	return mutation.Request{
		Set: target.ControlPlane, Provider: "acme", Operation: "UPDATE", Namespace: "n", Name: "x",
		Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "OperatingSystemConfig", Object: object,
	}
}

func nodeWith(unit, configuration string, plain bool) []byte {
	inline := map[string]any{"encoding": "b64", "data": base64.StdEncoding.EncodeToString([]byte(configuration))}
	if plain {
		inline = map[string]any{"encoding": "", "data": configuration}
	}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "OperatingSystemConfig", "metadata": map[string]any{"name": "x", "namespace": "n"},
		"spec": map[string]any{
			"purpose": "reconcile", "units": []any{map[string]any{"name": "kubelet.service", "content": unit}},
			"files": []any{map[string]any{"path": "/var/lib/kubelet/config/kubelet", "content": map[string]any{"inline": inline}}},
		},
	})
	if err != nil {
		panic(err)
	}
	return raw
}

// kubeletAfter are the texts of the kubelet in an object that was patched.
func kubeletAfter(t *testing.T, object, patch []byte) (unit, configuration string) {
	t.Helper()
	if patch != nil {
		object = golden.Apply(t, object, patch)
	}
	patched, err := document.Parse(object)
	if err != nil {
		t.Fatal(err)
	}
	spec := patched.Root().Get("spec")
	unit, _ = spec.Get("units").Item(0).Get("content").Text()
	content, err := document.ContentOf(spec.Get("files").Item(0).Find("content", "inline"))
	if err != nil {
		t.Fatal(err)
	}
	return unit, string(content.Text())
}
