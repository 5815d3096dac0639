// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"encoding/base64"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/test/objects"
)

const secretRules = `
apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: p}
providers: [acme]
lookups: {s: {secret: cloudprovider, keys: [password, pin, key, config, odd, bare]}}
controlplane:
  kube-controller-manager:
  - flags: {set: {password: "${ lookups.s.password }", pin: "${ lookups.s.pin }", odd: "${ lookups.s.odd }", open: "yes"}}
  - podAnnotations: {set: {encoded: "${ base64.encode(bytes(lookups.s.key)) }"}}
  - containers: {set: {extra: {image: x, env: [{name: A, value: "${ lookups.s.config }"}]}}}
  - containers: {set: {tokens: {image: x, args: ["-p${ lookups.s.password }", "${ lookups.s.password }=x", --y, "${ lookups.s.odd }"]}}}
  - containers: {set: {bare: {image: x, args: ["${ lookups.s.bare }"]}}}
  kubelet:
  - flags: {set: {odd: "${ lookups.s.odd }"}}
  - unit: {section: Service, add: {ExecStartPre: "/bin/echo ${ lookups.s.bare }"}}
  - configuration: {set: {providerID: "${ lookups.s.odd }", clusterDomain: "${ lookups.s.config }"}}
  node:
  - file: {path: /etc/cloud.conf, permissions: 0600, content: "[Global]\nkey=${ lookups.s.key }\n"}
  - unit: {name: containerd.service, dropIns: {10-acme.conf: "[Service]\nEnvironment=KEY=${ lookups.s.odd }\n"}}
`

// kept are the values of the Secret; odd ones stand in quotes and with escapes where they are written.
var kept = map[string]string{
	"password": "hunter2", "pin": "4711", "key": "-----BEGIN KEY-----\nhunter3\n", "config": "user: hunter4\npassword: hunter5",
	"odd": `a "hunter6" \ %h $x 'y'`, "bare": "éhunter7",
}

// secretObjects are objects with values that rules write from a Secret, and with the same values from before.
var secretObjects = map[string]string{
	"deployment": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"kube-controller-manager","namespace":"ns","annotations":{"was":"hunter2"}},
		"spec":{"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},
		"spec":{"containers":[{"name":"kube-controller-manager","image":"x:v1.33.5","command":["/kcm","--password=hunter2","--port=14711"]}]}}}}`,
	"operating system config": `{"apiVersion":"extensions.gardener.cloud/v1alpha1","kind":"OperatingSystemConfig","metadata":{"name":"x","namespace":"ns"},
		"spec":{"type":"t","purpose":"reconcile","units":[{"name":"kubelet.service","content":"[Service]\nExecStart=/opt/bin/kubelet --v=2\n"}],
		"files":[{"path":"/var/lib/kubelet/config/kubelet","content":{"inline":{"encoding":"b64","data":"` +
		base64.StdEncoding.EncodeToString([]byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 110\n")) + `"}}}]}}`,
}

// hide admits one of the objects.
func hide(t *testing.T, object string) *render.Change {
	t.Helper()
	return admittedBy(t, secretRules, object, kept)
}

// admittedBy returns the change of an object by a profile with lookups of a Secret.
func admittedBy(t *testing.T, text, object string, found map[string]string) *render.Change {
	t.Helper()
	documents, findings := profile.Load(source.File{Name: "p.yaml", Data: []byte(text)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	// Of these versions no flags are known, so that the rules may write flags of their own.
	served, err := semver.NewConstraint("< 1.31")
	if err != nil {
		t.Fatal(err)
	}
	program, err := compiler.Compile(documents, compiler.Options{Kubernetes: served})
	if err != nil {
		t.Fatal(err)
	}
	change, err := render.NewChange([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	admission := render.Admission{Namespace: "ns", Labels: map[string]string{"shoot.gardener.cloud/provider": "acme"}, Operation: "CREATE"}
	if err := change.Admit(t.Context(), program, admission, &facts.Static{
		Objects: objects.Of(map[string]map[string]string{"cloudprovider": found}, nil),
	}); err != nil {
		t.Fatal(err)
	}
	if !change.Hides() {
		t.Error("Hides() = false, want true")
	}
	return change
}

// shows returns the parts of the Secret in an output, also in base64.
func shows(output string) string {
	for _, telltale := range []string{"hunter", "=4711", "BEGIN KEY"} {
		if strings.Contains(output, telltale) {
			return telltale
		}
	}
	for _, word := range regexp.MustCompile(`[A-Za-z0-9+/]{8,}={0,2}`).FindAllString(output, -1) {
		decoded, err := base64.StdEncoding.DecodeString(word)
		if err == nil && strings.Contains(string(decoded), "hunter") {
			return word
		}
	}
	return ""
}

// TestSecretsAreHidden checks that no format shows values that rules wrote from Secrets, nor a message that quotes one,
// unless requested.
func TestSecretsAreHidden(t *testing.T) {
	for name, object := range secretObjects {
		t.Run(name, func(t *testing.T) {
			change := hide(t, strings.Replace(object, `"was":"hunter2"`, `"was":"older"`, 1))
			change.Denied = errors.New("somebody else says " + kept["odd"])
			for _, format := range slices.Concat(render.Objects(), render.Differences()) {
				var out strings.Builder
				if err := format.Write(render.Style{Context: 100}, &out, change); err != nil {
					t.Fatal(err)
				}
				if shown := shows(out.String()); shown != "" {
					t.Errorf("%s shows %s:\n%s", format.Name, shown, &out)
				}
				if !strings.Contains(out.String(), "(from Secret cloudprovider)") {
					t.Errorf("%s does not say where a value is from:\n%s", format.Name, &out)
				}
				if rest := beforeHidden.FindString(out.String()); rest != "" {
					t.Errorf("%s shows a part in front of a hidden value: %q\n%s", format.Name, rest, &out)
				}
			}
			change.Reveal()
			for _, format := range slices.Concat(render.Objects(), render.Differences()) {
				var out strings.Builder
				if err := format.Write(render.Style{Context: 100}, &out, change); err != nil {
					t.Fatal(err)
				}
				if shows(out.String()) == "" {
					t.Errorf("%s does not show the revealed value:\n%s", format.Name, &out)
				}
			}
		})
	}
}

// beforeHidden matches characters that stand in front of a hidden value only if they are a part of it.
var beforeHidden = regexp.MustCompile(`[^\\][^\s":=>-]\(from Secret`)

// TestSecretsOfEarlierAdmissionsAreHidden checks that values from Secrets are hidden in objects that have them already.
func TestSecretsOfEarlierAdmissionsAreHidden(t *testing.T) {
	for name, object := range secretObjects {
		t.Run(name, func(t *testing.T) {
			first := hide(t, strings.Replace(object, `"was":"hunter2"`, `"was":"older"`, 1))
			change := hide(t, string(first.Bytes()))
			for _, format := range slices.Concat(render.Objects(), render.Differences()) {
				var out strings.Builder
				if err := format.Write(render.Style{Context: 100}, &out, change); err != nil {
					t.Fatal(err)
				}
				if shown := shows(out.String()); shown != "" {
					t.Errorf("%s shows %s:\n%s", format.Name, shown, &out)
				}
			}
		})
	}
}

const short = `
apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: p}
providers: [acme]
lookups: {s: {secret: cloudprovider, keys: [pin, password, empty]}}
controlplane:
  kube-controller-manager:
  - flags: {set: {pin: "${ lookups.s.pin }", part: "${ lookups.s.pin.substring(0,1) }", size: "${ string(size(lookups.s.password)) }", empty: "${ lookups.s.empty }"}}
  - podAnnotations: {set: {pin: "${ lookups.s.pin }", yes: "4"}}
  - containers: {set: {extra: {image: "x:1", env: [{name: A, value: "${ lookups.s.pin }"}], ports: [{containerPort: "${ int(lookups.s.pin) }"}]}}}
  - volumes: {set: {a: {secret: {secretName: "${ lookups.s.pin }"}}}}
  kubelet:
  - flags: {set: {pin: "${ lookups.s.pin }"}}
  - configuration: {set: {maxPods: "${ int(lookups.s.pin) }", failSwapOn: "${ lookups.s.pin == '42' }"}}
  node:
  - file: {path: /etc/pin, permissions: 0600, content: "${ lookups.s.pin }"}
`

// TestShortSecretsAreHidden checks that short values from Secrets, and the earlier values in their places, are hidden
// there, and that the same text elsewhere is shown.
func TestShortSecretsAreHidden(t *testing.T) {
	replacer := strings.NewReplacer("was\":\"hunter2", "was\":\"42", "--password=hunter2", `--pin=41","--part=4","--size","19`,
		"--v=2", "--v=42", "maxPods: 110", "maxPods: 43\nburst: 42")
	tell := regexp.MustCompile(`(pin|part|size)([=: ]|": ")+"?[0-9]|maxPods"?: "?[0-9]|[Vv]alue: "?4|containerPort"?: "?4|size 19|secret-[0-9a-f]{8}(\": ?\"|: \")4|failSwapOn: (true|false)|"(42|19)"\]|^ *"19"|- "?19|NDI=|--empty=(\s|"|$)`)
	for name, object := range secretObjects {
		t.Run(name, func(t *testing.T) {
			change := admittedBy(t, short, replacer.Replace(withText(object, replacer)), map[string]string{"pin": "42", "password": "a-password-of-19-xy", "empty": ""})
			for _, format := range slices.Concat(render.Objects(), render.Differences()) {
				var out strings.Builder
				if err := format.Write(render.Style{Context: 100}, &out, change); err != nil {
					t.Fatal(err)
				}
				text := decoded(out.String()[max(0, strings.Index(out.String(), "<main")):]) // the head of a page is style
				if shown := tell.FindString(text); shown != "" {
					t.Errorf("%s shows %s:\n%s", format.Name, shown, text)
				}
				if !strings.Contains(text, "(from Secret cloudprovider)") {
					t.Errorf("%s does not say where a value is from:\n%s", format.Name, text)
				}
			}
			shown, err := change.Shown()
			if err != nil {
				t.Fatal(err)
			}
			if name == "deployment" && !strings.Contains(string(shown), `"was":"42"`) {
				t.Errorf("the same text elsewhere is hidden:\n%s", decoded(string(shown)))
			}
		})
	}
}

var inBase64 = regexp.MustCompile(`[A-Za-z0-9+/]{40,}={0,2}`)

// decoded returns a text with its base64 parts decoded.
func decoded(text string) string {
	return inBase64.ReplaceAllStringFunc(text, func(word string) string {
		if decoded, err := base64.StdEncoding.DecodeString(word); err == nil {
			return string(decoded)
		}
		return word
	})
}

// withText replaces a text inside the base64 parts of an object.
func withText(object string, replacer *strings.Replacer) string {
	return inBase64.ReplaceAllStringFunc(object, func(word string) string {
		if decoded, err := base64.StdEncoding.DecodeString(word); err == nil {
			return base64.StdEncoding.EncodeToString([]byte(replacer.Replace(string(decoded))))
		}
		return word
	})
}
