// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestBeside runs Graft next to the webhook of a provider's own extension, as docs/usage/other-webhooks.md describes:
// in a field that both write, the last reinvoked webhook wins; all other fields of both stay; and a second write
// changes nothing.
func TestBeside(t *testing.T) {
	p := start(t, programOptions{Profiles: map[string]string{"acme": head("acme", "acme") +
		"controlplane:\n  kube-controller-manager:\n  - flags: {set: {shared: graft, ours: graft}}\n"}})
	graft, theirs := []string{"--shared=graft", "--ours=graft", "--theirs=provider"}, []string{"--shared=provider", "--ours=graft", "--theirs=provider"}
	for name, test := range map[string]struct {
		webhook string
		again   admissionregistrationv1.ReinvocationPolicyType
		want    []string
	}{
		"called before":                      {"aa-provider", admissionregistrationv1.NeverReinvocationPolicy, graft},
		"called after":                       {"zz-provider", admissionregistrationv1.NeverReinvocationPolicy, graft},
		"called before, and again if needed": {"aa-provider", admissionregistrationv1.IfNeededReinvocationPolicy, graft},
		"called after, and again if needed":  {"zz-provider", admissionregistrationv1.IfNeededReinvocationPolicy, theirs},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := newShoot(t, "beside-"+strings.ToLower(string(test.again))+"-"+test.webhook[:2], "acme")
			registerProvider(t, test.webhook, namespace, test.again)
			object := create(t, deployment(namespace, "kube-controller-manager"))
			expectBeside(t, object, test.want)
			before := object.GetGeneration()
			for range 2 {
				fresh := deployment(namespace, "kube-controller-manager")
				object.Object["spec"].(map[string]any)["template"] = fresh.Object["spec"].(map[string]any)["template"]
				if err := land.Client().Update(t.Context(), object); err != nil {
					t.Fatal(err)
				}
				expectBeside(t, object, test.want)
			}
			if got := object.GetGeneration(); got != before {
				t.Errorf("the generation %d became %d: pods would be replaced", before, got)
			}
			if got := p.counter("graft_admissions_total", labels{"result": "denied"}); got != 0 {
				t.Errorf("%v admissions are denied", got)
			}
		})
	}
}

// registerProvider registers a webhook that writes flags as providers' own code does: it replaces existing ones.
func registerProvider(t *testing.T, name, namespace string, again admissionregistrationv1.ReinvocationPolicyType) {
	t.Helper()
	registerAgain(t, name, namespace, again, func(object *unstructured.Unstructured) {
		containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		container := containers[0].(map[string]any)
		for _, flag := range []string{"--shared=", "--theirs="} {
			command := container["command"].([]any)
			i := slices.IndexFunc(command, func(item any) bool { return strings.HasPrefix(item.(string), flag) })
			if i < 0 {
				i, command = len(command), append(command, nil)
			}
			command[i] = flag + "provider"
			container["command"] = command
		}
		_ = unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")
	})
}

func expectBeside(t *testing.T, object *unstructured.Unstructured, want []string) {
	t.Helper()
	got := slices.DeleteFunc(commandOf(t, object), func(flag string) bool {
		return !slices.ContainsFunc([]string{"--shared=", "--ours=", "--theirs="}, func(prefix string) bool { return strings.HasPrefix(flag, prefix) })
	})
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the flags (-want +got):\n%s", diff)
	}
}
