// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/objects"
)

// theSecret is a value that must be hidden in all the forms that the rules below write.
var theSecret = map[string]string{"password": "hunter2hunter2", "list": "hunter2a,hunter2b", "number": "84648464", "map": `{"hunter2key":"hunter2"}`}

// telltales are pieces of theSecret, as text, as base64 and in capitals, and its checksum.
var telltales = []string{"hunter2", "HUNTER2", "aHVudGVy", "84648464", "84648465"}

const secretProfile = `
apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: p}
providers: [acme]
lookups:
  s: {secret: cloudprovider, keys: [password, list, number], labels: [a], optional: true}
  named: {secret: "${ object.namespace + '-credentials' }", keys: [password], optional: true}
  open: {configMap: open, keys: [k], optional: true}
variables:
  direct: ${ lookups.s.password }
  through: ${ variables.direct + "!" }
  tree: {a: ["${ variables.through }"]}
controlplane:
  kube-controller-manager:
  - %s
`

func admitSecret(t *testing.T, rule string, observe mutation.Observer) (*mutation.Result, error) {
	t.Helper()
	text := fmt.Sprintf(secretProfile, strings.ReplaceAll(strings.TrimSpace(rule), "\n", "\n    "))
	program := compiled(t, compiler.Options{Generation: contract.Today, Kubernetes: elsewhere}, text)
	return program.Trace(context.Background(), mutation.Request{
		Set: target.ControlPlane, Provider: "acme", Operation: "CREATE", Namespace: "shoot--foo--bar", Name: "kube-controller-manager",
		Group: "apps", Version: "v1", Kind: "Deployment",
		Object: []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"kube-controller-manager","namespace":"shoot--foo--bar"},` +
			`"spec":{"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},` +
			`"spec":{"containers":[{"name":"kube-controller-manager","image":"x:v1.33.5","command":["/kcm","--feature-gates=A=true"]}]}}}}`),
	}, &facts.Static{
		Objects: objects.Of(map[string]map[string]string{"cloudprovider": theSecret, "shoot--foo--bar-credentials": theSecret},
			map[string]map[string]string{"open": {"k": "visible"}}),
	}, observe)
}

// TestSecretsAreNotShown checks that values of a Secret are written to the object and to no message.
func TestSecretsAreNotShown(t *testing.T) {
	for _, c := range []struct{ name, rule, want string }{
		{"hides the value of a flag", `flags: {set: {x: "${ lookups.s.password }"}}`, "flag --x of container kube-controller-manager: (from Secret cloudprovider)"},
		{"part of a text", `labels: {set: {x: "a-${ lookups.s.password }-b"}}`, "label x: (from Secret cloudprovider)"},
		{"hides a value that passed through variables", `flags: {set: {x: "${ variables.through }"}}`, "flag --x of container kube-controller-manager: (from Secret cloudprovider)"},
		{"in a tree", `flags: {set: {x: "${ toJSON(variables.tree) }"}}`, "flag --x of container kube-controller-manager: (from Secret cloudprovider)"},
		{"hides a value encoded in base64", `podAnnotations: {set: {x: "${ base64.encode(bytes(lookups.s.password.upperAscii())) }"}}`, "pod annotation x: (from Secret cloudprovider)"},
		{"hides a number computed from a value", `podAnnotations: {set: {x: "${ int(lookups.s.number) + 1 }"}}`, "pod annotation x: (from Secret cloudprovider)"},
		{"hides a container with a value inside", `containers: {set: {extra: {image: x, env: [{name: A, value: "${ lookups.s.password }"}]}}}`, "container extra: (from Secret cloudprovider)"},
		{"hides a value from two Secrets", `flags: {set: {x: "${ lookups.s.password + lookups.named.password }"}}`, "flag --x of container kube-controller-manager: (from Secret ${ object.namespace + '-credentials' }, cloudprovider)"},
		{"hides an item of a split value", "forEach: ${ lookups.s.list.split(',') }\nlabels: {set: {x: \"${ item }\"}}", "label x: (from Secret cloudprovider)"},
		{"shows a value from a ConfigMap", `flags: {set: {x: "${ lookups.open.k }"}}`, `flag --x of container kube-controller-manager: "visible"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen strings.Builder
			result, err := admitSecret(t, c.rule, func(rule mutation.Applied, step mutation.Step, _ *target.Object) {
				fmt.Fprintf(&seen, "%v %+v\n%s\n%v\n", rule, rule, step, step.Value)
			})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(seen.String(), c.want+"\n") && !strings.Contains(seen.String(), c.want+", overridden") {
				t.Errorf("got\n%s\nwant %s", &seen, c.want)
			}
			fmt.Fprintf(&seen, "%+v\n", result.Applied)
			expectNoSecret(t, seen.String())
			if c.name != "shows a value from a ConfigMap" && !showsSecret(string(result.Patch)) {
				t.Errorf("the value is not in the object: %s", result.Patch)
			}
		})
	}
}

// TestSecretsAreNotInFailures checks that a failure does not contain the failed value.
func TestSecretsAreNotInFailures(t *testing.T) {
	for _, c := range []struct{ name, rule string }{
		{"a failed conversion", `labels: {set: {x: "${ int(lookups.s.password) }"}}`},
		{"a key that does not exist", `labels: {set: {x: "${ {'a': 'b'}[lookups.s.password] }"}}`},
		{"an index that does not exist", `labels: {set: {x: "${ lookups.s.list.split(',')[7] }"}}`},
		{"an invalid quantity", `labels: {set: {x: "${ quantity(lookups.s.password).isInteger() }"}}`},
		{"an invalid address", `labels: {set: {x: "${ ip(lookups.s.password).family() }"}}`},
		{"an invalid version", `when: "${ lookups.s.password.satisfies('< 1.34') }"` + "\n" + `labels: {set: {x: y}}`},
		{"an invalid version constraint", `when: "${ '1.33'.satisfies(lookups.s.password) }"` + "\n" + `labels: {set: {x: y}}`},
		{"an invalid pattern", `when: "${ 'x'.matches(lookups.s.password + '(') }"` + "\n" + `labels: {set: {x: y}}`},
		{"an invalid time", `labels: {set: {x: "${ timestamp(lookups.s.password) }"}}`},
		{"in a variable", "labels: {set: {x: \"${ int(variables.through) }\"}}"},
		{"a field of a container", `containers: {set: {extra: {image: x, ports: [{containerPort: "${ lookups.s.password }"}]}}}`},
		{"a number too large", `containers: {set: {extra: {image: x, ports: [{containerPort: "${ int(lookups.s.number + '8464') }"}]}}}`},
		{"resources of a container", `containers: {set: {extra: {image: x, resources: {limits: {cpu: "${ lookups.s.password }"}}}}}`},
		{"a feature gate", `featureGates: {B: "${ lookups.s.password }"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := admitSecret(t, c.rule, func(mutation.Applied, mutation.Step, *target.Object) {})
			var failure *mutation.Failure
			if !errors.As(err, &failure) {
				t.Fatalf("got %v, want a failure", err)
			}
			var text strings.Builder
			for e := error(failure); e != nil; e = errors.Unwrap(e) {
				fmt.Fprintf(&text, "%s\n%+v\n", e, e)
			}
			expectNoSecret(t, text.String())
			if failure.Reason != mutation.ExpressionFailed {
				t.Errorf("the reason is %s: %s", failure.Reason, failure)
			}
		})
	}
}

// TestNamesAreNotFromSecrets checks that a name cannot come from a Secret, because messages contain names.
func TestNamesAreNotFromSecrets(t *testing.T) {
	text := fmt.Sprintf(secretProfile, "forEach: ${ lookups.s.list.split(',') }\n    labels: {set: {\"${ item }\": x}}")
	documents, findings := profile.Load(source.File{Name: "p.yaml", Data: []byte(text)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	if _, err := compiler.Compile(documents, compiler.Options{Kubernetes: elsewhere}); err == nil || !strings.Contains(err.Error(), "a name must not come from a Secret") {
		t.Errorf("got %v", err)
	}
}

func showsSecret(text string) bool {
	for _, telltale := range append(telltales, "SFVOVEVSM") {
		if strings.Contains(text, telltale) {
			return true
		}
	}
	return false
}

func expectNoSecret(t *testing.T, text string) {
	t.Helper()
	if showsSecret(text) {
		t.Errorf("a value of the Secret is shown:\n%s", text)
	}
}

// TestSecretObject checks that values from an admitted Secret are not shown.
func TestSecretObject(t *testing.T) {
	text := `
apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: p}
providers: [acme]
controlplane:
  objects:
  - apiVersion: v1
    kind: Secret
    name: cloud-*
    rules:
    - annotations: {set: {x: "${ object.data.token }"}}
    - annotations: {set: {y: "${ object.name }"}}
`
	program := compiled(t, compiler.Options{}, text)
	var shown []string
	_, err := program.Trace(t.Context(), mutation.Request{
		Set: target.ControlPlane, Provider: "acme", Operation: "CREATE", Namespace: "shoot--foo--bar", Name: "cloud-x", Version: "v1", Kind: "Secret",
		Object: []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"cloud-x"},"data":{"token":"aHVudGVyMg=="}}`),
	}, &facts.Static{}, func(_ mutation.Applied, step mutation.Step, _ *target.Object) { shown = append(shown, step.String()) })
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"annotation x: (from Secret cloud-*)", `annotation y: "cloud-x"`}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}
