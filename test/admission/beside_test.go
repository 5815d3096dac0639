// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// As in docs/usage/other-webhooks.md: in a place that both write, the webhook that is called last, of those that are
// called again if needed, has the last word, as Graft is. Both keep their other places, and a mutated object stays as
// it is.
var _ = Describe("Graft next to the webhook of another extension", Ordered, func() {
	var p *program

	BeforeAll(func(ctx SpecContext) {
		p = start(ctx, programOptions{Profiles: map[string]string{"acme": head("acme", "acme") +
			"controlplane:\n  kube-controller-manager:\n  - flags: {set: {shared: graft, ours: graft}}\n"}})
	})

	graft, theirs := []string{"--shared=graft", "--ours=graft", "--theirs=provider"},
		[]string{"--shared=provider", "--ours=graft", "--theirs=provider"}
	all := map[string]struct {
		webhook string
		again   admissionregistrationv1.ReinvocationPolicyType
		want    []string
	}{
		"called before":                      {"aa-provider", admissionregistrationv1.NeverReinvocationPolicy, graft},
		"called after":                       {"zz-provider", admissionregistrationv1.NeverReinvocationPolicy, graft},
		"called before, and again if needed": {"aa-provider", admissionregistrationv1.IfNeededReinvocationPolicy, graft},
		"called after, and again if needed":  {"zz-provider", admissionregistrationv1.IfNeededReinvocationPolicy, theirs},
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		It("keeps the edits of both, with the other one "+name, func(ctx SpecContext) {
			test := all[name]
			namespace := newShoot(ctx, "beside-"+strings.ToLower(string(test.again))+"-"+test.webhook[:2], "acme")
			registerProvider(ctx, test.webhook, namespace, test.again)
			object := create(ctx, deployment(namespace, "kube-controller-manager"))
			expectBeside(object, test.want)
			before := object.GetGeneration()
			for range 2 {
				fresh := deployment(namespace, "kube-controller-manager")
				object.Object["spec"].(map[string]any)["template"] = fresh.Object["spec"].(map[string]any)["template"]
				Expect(land.Client().Update(ctx, object)).To(Succeed())
				expectBeside(object, test.want)
			}
			Expect(object.GetGeneration()).To(Equal(before), "the generation; another one replaces Pods")
			Expect(p.counter("graft_admissions_total", labels{"result": "denied"})).To(BeZero(), "denied admissions")
		})
	}
})

// registerProvider registers a webhook that writes flags as providers' own code does: it replaces existing ones.
func registerProvider(ctx context.Context, name, namespace string,
	again admissionregistrationv1.ReinvocationPolicyType) {
	GinkgoHelper()
	registerAgain(ctx, name, namespace, again, func(object *unstructured.Unstructured) {
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

func expectBeside(object *unstructured.Unstructured, want []string) {
	GinkgoHelper()
	got := slices.DeleteFunc(commandOf(object), func(flag string) bool {
		return !slices.ContainsFunc([]string{"--shared=", "--ours=", "--theirs="},
			func(prefix string) bool { return strings.HasPrefix(flag, prefix) })
	})
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	Expect(got).To(BeComparableTo(want), "the flags")
}
