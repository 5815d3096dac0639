// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

const unveiled = `
apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: p}
providers: [acme]
lookups: {s: {secret: cloudprovider, keys: [password, pin, key, config]}}
controlplane:
  kube-controller-manager:
  - flags: {set: {password: "${ lookups.s.password }", pin: "${ lookups.s.pin }", open: "yes"}}
  - podAnnotations: {set: {encoded: "${ base64.encode(bytes(lookups.s.key)) }"}}
  - containers: {set: {extra: {image: x, env: [{name: A, value: "${ lookups.s.config }"}]}}}
  node:
  - file: {path: /etc/cloud.conf, permissions: 0600, content: "[Global]\nkey=${ lookups.s.key }\n"}
`

// TestSecretsAreHidden holds that no line of a change shows what a rule made of a Secret, neither where it is written nor where it
// stood before.
func TestSecretsAreHidden(t *testing.T) {
	documents, findings := profile.Load(source.File{Name: "p.yaml", Data: []byte(unveiled)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	// Of these versions no flags are known, so that the rules may write flags of their own.
	served, err := semver.NewConstraint("< 1.31")
	if err != nil {
		t.Fatal(err)
	}
	program, err := mutation.Compile(documents, mutation.Options{Kubernetes: served})
	if err != nil {
		t.Fatal(err)
	}
	secrets := &facts.Static{Secrets: map[string]map[string]string{"cloudprovider": {
		"password": "hunter2", "pin": "4711", "key": "-----BEGIN KEY-----\nhunter3\n", "config": "user: hunter4\npassword: hunter5",
	}}}
	for _, c := range []struct{ name, object, want string }{
		{"deployment", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"kube-controller-manager","namespace":"ns","annotations":{"was":"hunter2"}},
			"spec":{"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},
			"spec":{"containers":[{"name":"kube-controller-manager","image":"x:v1.33.5","command":["/kcm","--password=hunter2","--port=14711"]}]}}}}`, "--pin=(from Secret cloudprovider)"},
		{"operating system config", `{"apiVersion":"extensions.gardener.cloud/v1alpha1","kind":"OperatingSystemConfig","metadata":{"name":"x","namespace":"ns"},
			"spec":{"type":"t","purpose":"reconcile","units":[{"name":"kubelet.service","content":"[Service]\nExecStart=/opt/bin/kubelet\n"}],"files":[]}}`, "(from Secret cloudprovider)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			change, err := render.NewChange([]byte(c.object))
			if err != nil {
				t.Fatal(err)
			}
			admission := render.Admission{Namespace: "ns", Labels: map[string]string{"shoot.gardener.cloud/provider": "acme"}, Operation: "CREATE"}
			if err := change.Admit(t.Context(), program, admission, secrets); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := (render.Style{Context: 100}).Write(&out, change); err != nil {
				t.Fatal(err)
			}
			difference, err := render.NewChange(change.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			difference.HideAs(change)
			if err := (render.Style{Context: 100}).Write(&out, difference); err != nil {
				t.Fatal(err)
			}
			for _, telltale := range []string{"hunter", "aHVudGVy", "=4711", "BEGIN KEY"} {
				if strings.Contains(out.String(), telltale) {
					t.Errorf("%s is shown:\n%s", telltale, &out)
				}
			}
			if !strings.Contains(out.String(), c.want) {
				t.Errorf("%s is not shown:\n%s", c.want, &out)
			}
		})
	}
}
