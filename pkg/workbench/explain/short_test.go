// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/explain"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/test/objects"
)

const shortSecret = `
apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: p}
providers: [acme]
lookups: {s: {secret: cloudprovider, keys: [pin]}}
controlplane:
  kube-controller-manager:
  - flags: {set: {pin: "${ lookups.s.pin }"}}
  - podAnnotations: {set: {pin: "${ lookups.s.pin }"}}
`

// TestShortSecrets checks that an explanation hides short values of Secrets, and the earlier values in their places.
func TestShortSecrets(t *testing.T) {
	documents, findings := profile.Load(source.File{Name: "p.yaml", Data: []byte(shortSecret)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	served, err := semver.NewConstraint("< 1.31") // of these versions no flags are known
	if err != nil {
		t.Fatal(err)
	}
	program, err := compiler.Compile(documents, compiler.Options{Kubernetes: served})
	if err != nil {
		t.Fatal(err)
	}
	for _, stood := range []string{"41", "42"} {
		object := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"kube-controller-manager","namespace":"ns"},"spec":{"selector":{},"template":{
			"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"kube-controller-manager","image":"x:v1.30.5","command":["/kcm","--pin=` + stood + `"]}]}}}}`
		admission := render.Admission{Namespace: "ns", Labels: map[string]string{"shoot.gardener.cloud/provider": "acme"}, Operation: "CREATE"}
		found := &facts.Static{Objects: objects.Of(map[string]map[string]string{"cloudprovider": {"pin": "42"}}, nil)}
		explained, err := explain.Of(t.Context(), program, []byte(object), admission, found)
		if err != nil {
			t.Fatal(err)
		}
		written, err := json.Marshal(explained)
		if err != nil {
			t.Fatal(err)
		}
		if shown := regexp.MustCompile(`pin(=|: \\")4.`).FindString(string(written)); shown != "" {
			t.Errorf("the output shows the secret %s:\n%s", shown, written)
		}
		if !strings.Contains(string(written), "(from Secret cloudprovider)") {
			t.Errorf("the output does not name the source of the value:\n%s", written)
		}
	}
}
