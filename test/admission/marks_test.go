// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"maps"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const markOfControlPlane = "graft.provider.extensions.gardener.cloud/mutated-by-controlplane"

var _ = Describe("a mutated object", func() {
	It("has a mark with the version of its profile from the next edit on, and only on its own metadata",
		func(ctx SpecContext) {
			p := start(ctx, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "a")}})
			object := create(ctx, deployment(newShoot(ctx, "marks", "acme"), "kube-controller-manager"))
			first := object.GetAnnotations()[markOfControlPlane]
			Expect(first).To(MatchRegexp("^acme@.{8}$"), "the mark of the object")
			pod, _, _ := unstructured.NestedStringMap(object.Object, "spec", "template", "metadata", "annotations")
			Expect(pod[markOfControlPlane]).To(BeEmpty(), "the mark of the Pods")

			p.reload("acme.yaml", setFlag("acme", "acme", "value", "a")+"# a remark\n")
			expectUnchanged(ctx, p, "kube-controller-manager", object)
			Expect(stored(ctx, object).GetAnnotations()[markOfControlPlane]).To(Equal(first), "the mark of an unchanged object")
			p.reload("acme.yaml", setFlag("acme", "acme", "value", "b"))
			object = stored(ctx, object)
			Expect(land.Client().Update(ctx, object)).To(Succeed())
			Expect(object.GetAnnotations()[markOfControlPlane]).
				To(And(HavePrefix("acme@"), Not(Equal(first))), "the mark after an edit")
		})
})

var _ = Describe("a retired profile", func() {
	It("has its edits removed, but for the storage class and values that other writers have changed",
		func(ctx SpecContext) {
			rules := head("acme", "acme") +
				"controlplane:\n  etcd-main:\n  - labels: {set: {acme: a, part: b}}\n  - storage: {class: fast}\n" +
				"  - {override: a test, fields: {set: {spec.etcd.metrics: extensive}}}\n"
			p := start(ctx, programOptions{Profiles: map[string]string{"acme": rules}})
			object := etcd(newShoot(ctx, "taken-back", "acme"), "etcd-main")
			before, found, _ := unstructured.NestedString(object.Object, "spec", "etcd", "metrics")
			object = create(ctx, object)
			metrics, _, _ := unstructured.NestedString(object.Object, "spec", "etcd", "metrics")
			Expect(metrics).To(Equal("extensive"), "the field that a rule sets")
			Expect(object.GetLabels()).To(HaveKeyWithValue("acme", "a"), "the label that a rule sets")
			labels := object.GetLabels()
			labels["part"] = "theirs"
			object.SetLabels(labels)

			p.reload("acme.yaml", strings.Replace(rules, "controlplane:", "retired: true\ncontrolplane:", 1))
			Expect(land.Client().Update(ctx, object)).To(Succeed())
			Expect(object.GetLabels()).NotTo(HaveKey("acme"), "labels without the retired profile")
			Expect(object.GetLabels()).To(HaveKeyWithValue("part", "theirs"), "the label of another writer")
			metrics, is, _ := unstructured.NestedString(object.Object, "spec", "etcd", "metrics")
			class, _, _ := unstructured.NestedString(object.Object, "spec", "storageClass")
			Expect(is).To(Equal(found), "whether the field is set")
			Expect(metrics).To(Equal(before), "the field without the retired profile")
			Expect(class).To(Equal("fast"), "the storage class")
			Expect(others(object.GetAnnotations())).To(HaveLen(len(object.GetAnnotations())), "annotations of other writers")
			// The managed fields are updated after a removal by an admission only with the next update.
			Expect(land.Client().Update(ctx, object)).To(Succeed())
			expectUnchanged(ctx, p, "etcd-main", object)
		})
})

// others returns the annotations without Graft's.
func others(annotations map[string]string) map[string]string {
	left := maps.Clone(annotations)
	maps.DeleteFunc(left, func(key,
		_ string) bool {
		return strings.HasPrefix(key, "graft.provider.extensions.gardener.cloud/")
	})
	return left
}
