// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const objectRules = `parameters: {notes: {first: one, second: two}}
controlplane:
  objects:
  - apiVersion: v1
    kind: ConfigMap
    name: cloud-*
    rules:
    - forEach: ${ parameters.notes }
      annotations: {set: {"acme.example.com/${ item.key }": "${ item.value } in ${ shoot.region }"}}
    - when: ${ "fail" in object.labels }
      annotations: {set: {"acme.example.com/never": "${ object.labels[object.name] }"}}
  - apiVersion: v1
    kind: ConfigMap
    name: cloud-provider-config
    rules:
    - labels: {set: {acme.example.com/exact: "yes"}}
    - document: {at: 'data["cloud.yaml"]', set: {global.region: "${ shoot.region }"}, append: {zones: [b]}}
    - mode: observe
      annotations: {set: {acme.example.com/observed: "yes"}}
  - apiVersion: apps/v1
    kind: DaemonSet
    rules:
    - flags: {container: agent, set: {region: "${ shoot.region }"}, remove: [v]}
`

var _ = Describe("rules for objects beyond the contract", func() {
	It("match by name and by prefix, and no other object leads to a call", func(ctx SpecContext) {
		p := start(ctx, programOptions{Profiles: map[string]string{"acme": head("acme", "acme") + objectRules}})
		namespace := newShoot(ctx, "objects", "acme")
		config := func(name string) *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": namespace},
			}}
		}
		const region = "region-1" // of the landscape's shoots
		notes := map[string]string{"acme.example.com/first": "one in " + region,
			"acme.example.com/second": "two in " + region}

		exact := config("cloud-provider-config")
		exact.Object["data"] = map[string]any{"cloud.yaml": "# of the cloud\nglobal: {region: x, other: 1}\nzones:\n- a\n"}
		p.expectCount(1, "graft_admissions_total", labels{"target": "ConfigMap/cloud-provider-config", "result": "patched"},
			func() { create(ctx, exact) })
		Expect(others(exact.GetAnnotations())).To(Equal(notes), "annotations of the ConfigMap with the exact name")
		Expect(exact.GetLabels()).To(HaveKeyWithValue("acme.example.com/exact", "yes"), "labels of the ConfigMap")
		edited, _, _ := unstructured.NestedString(exact.Object, "data", "cloud.yaml")
		Expect(edited).To(BeComparableTo("# of the cloud\nglobal: {region: "+region+", other: 1}\nzones:\n- a\n- b\n"),
			"the document")
		p.expectCount(1, "graft_rules_total", labels{"result": "observed"}, func() {
			p.expectCount(0, "graft_rules_total", labels{"result": "changed"}, func() { update(ctx, exact, "other", "x") })
		})
		p.expectCount(1, "graft_rules_total",
			labels{"result": "unchanged", "rule": "ConfigMap/cloud-provider-config[2].annotations"}, func() {
				p.expectCount(0, "graft_rules_total", labels{"result": "observed"}, func() {
					before, annotations := exact.DeepCopy(), exact.GetAnnotations()
					annotations["acme.example.com/observed"] = "yes"
					exact.SetAnnotations(annotations)
					Expect(land.Client().Patch(ctx, exact, client.MergeFrom(before))).To(Succeed())
				})
			})

		begun := config("cloud-init")
		p.expectCount(1, "graft_admissions_total", labels{"target": "ConfigMap/cloud-*", "result": "patched"},
			func() { create(ctx, begun) })
		Expect(others(begun.GetAnnotations())).To(Equal(notes), "annotations of the ConfigMap with the prefix")
		Expect(begun.GetLabels()).To(BeNil(), "labels of the ConfigMap with the prefix")
		p.expectCount(1, "graft_admissions_total", labels{"target": "ConfigMap/cloud-*", "result": "denied"}, func() {
			failing := config("cloud-fail")
			failing.SetLabels(map[string]string{"fail": "yes"})
			expectDenied(land.Client().Create(ctx, failing), http.StatusInternalServerError, "ExpressionFailed: ",
				"ConfigMap/cloud-*[1].annotations")
		})
		p.expectCount(0, "graft_admissions_total", nil, func() {
			create(ctx, config("other"))
			create(ctx, deployment(namespace, "cloud-controller-manager"))
		})

		agent := deployment(namespace, "agent", "--v=2")
		agent.SetKind("DaemonSet")
		create(ctx, agent)
		Expect(commandOf(agent)).To(BeComparableTo([]string{"/agent", "--region=" + region}), "the command")
	})
})

// update sets a label by a merge patch.
func update(ctx context.Context, object *unstructured.Unstructured, label, value string) {
	GinkgoHelper()
	before := object.DeepCopy()
	set := object.GetLabels()
	if set == nil {
		set = map[string]string{}
	}
	set[label] = value
	object.SetLabels(set)
	Expect(land.Client().Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
}
