// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"bytes"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// TestNodesOfAnyNameAndType checks that rules for nodes apply to every OperatingSystemConfig of any name and type, with
// the version of its pool, and that only the purpose selects the rules.
func TestNodesOfAnyNameAndType(t *testing.T) {
	program := programOf(t, `
controlplane:
  kubelet:
  - flags: {set: {"cloud-provider": external, pool: "${ pool.name + string(pool.kubernetes.minor()) + object.spec.type }"}}
  node:
  - file: {path: /opt/first, content: boot}
    purposes: [provision]
`)
	source := &facts.Static{Facts: pooled(t, pools{"a": "1.33.4", "b": "1.32.9"})}
	minors := map[string]string{"a": "33", "b": "32"}
	for _, kind := range []string{"gardenlinux", "suse-chost", "ubuntu", "flatcar", "an-os-of-tomorrow"} {
		for _, name := range []string{"gardener-node-agent-a-12345-original", "cloud-config-general-original", "x"} {
			for pool, minor := range minors {
				for _, purpose := range []string{"reconcile", "provision"} {
					t.Run(kind+"/"+name+"/"+pool+"/"+purpose, func(t *testing.T) {
						r := nodeRequest(pool, "")
						r.Name = name
						r.Object = bytes.Replace(r.Object, []byte(`"purpose":"reconcile"`), []byte(`"type":"`+kind+`","purpose":"`+purpose+`"`), 1)
						r.Object = bytes.Replace(r.Object, []byte(`"name":"x"`), []byte(`"name":"`+name+`"`), 1)
						result, err := program.Admit(t.Context(), r, source)
						if err != nil {
							t.Fatal(err)
						}
						expectNode(t, result, purpose, []byte("--pool="+pool+minor+kind))
					})
				}
			}
		}
	}
}

// expectNode checks that exactly the rules for a purpose have changed an object.
func expectNode(t *testing.T, result *mutation.Result, purpose string, flag []byte) {
	t.Helper()
	reconciles := purpose == "reconcile"
	if got := bytes.Contains(result.Patch, []byte("--cloud-provider=external")); got != reconciles {
		t.Errorf("the flag is set: %t\n%s", got, result.Patch)
	}
	if got := bytes.Contains(result.Patch, flag); got != reconciles {
		t.Errorf("%s is set: %t\n%s", flag, got, result.Patch)
	}
	if got := bytes.Contains(result.Patch, []byte("/opt/first")); got == reconciles {
		t.Errorf("the file is there: %t\n%s", got, result.Patch)
	}
}
