// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const markOfControlPlane = "graft.provider.extensions.gardener.cloud/mutated-by-controlplane"

// TestMarks checks that an object names the profile versions that mutated it, from the next write on, in its own
// metadata only.
func TestMarks(t *testing.T) {
	p := start(t, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "a")}})
	object := create(t, deployment(newShoot(t, "marks", "acme"), "kube-controller-manager"))
	first := object.GetAnnotations()[markOfControlPlane]
	if name, hash, _ := strings.Cut(first, "@"); name != "acme" || len(hash) != 8 {
		t.Errorf("the mark is %q", first)
	}
	if pod, _, _ := unstructured.NestedStringMap(object.Object, "spec", "template", "metadata", "annotations"); pod[markOfControlPlane] != "" {
		t.Error("the pods are marked")
	}

	p.reload("acme.yaml", setFlag("acme", "acme", "value", "a")+"# a remark\n")
	expectUnchanged(t, p, "kube-controller-manager", object)
	if got := stored(t, object).GetAnnotations()[markOfControlPlane]; got != first {
		t.Errorf("an object that is right already is marked anew: %q", got)
	}
	p.reload("acme.yaml", setFlag("acme", "acme", "value", "b"))
	object = stored(t, object)
	if err := land.Client().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if got := object.GetAnnotations()[markOfControlPlane]; got == first || !strings.HasPrefix(got, "acme@") {
		t.Errorf("the mark after an edit is %q, before it was %q", got, first)
	}
}

// TestTakenBack retires a profile: its values in places that gardenlet does not write are removed, later changes of
// other clients stay, and so does the storage class, which cannot change.
func TestTakenBack(t *testing.T) {
	rules := head("acme", "acme") + "controlplane:\n  etcd-main:\n  - labels: {set: {acme: a, part: b}}\n  - storage: {class: fast}\n" +
		"  - {override: a test, fields: {set: {spec.etcd.metrics: extensive}}}\n"
	p := start(t, programOptions{Profiles: map[string]string{"acme": rules}})
	object := etcd(newShoot(t, "taken-back", "acme"), "etcd-main")
	before, found, _ := unstructured.NestedString(object.Object, "spec", "etcd", "metrics")
	object = create(t, object)
	if metrics, _, _ := unstructured.NestedString(object.Object, "spec", "etcd", "metrics"); object.GetLabels()["acme"] != "a" || metrics != "extensive" {
		t.Fatalf("the rules are not applied: %v, %q", object.GetLabels(), metrics)
	}
	labels := object.GetLabels()
	labels["part"] = "theirs"
	object.SetLabels(labels)

	p.reload("acme.yaml", strings.Replace(rules, "controlplane:", "retired: true\ncontrolplane:", 1))
	if err := land.Client().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if got := object.GetLabels(); got["acme"] != "" || got["part"] != "theirs" {
		t.Errorf("the labels are %v", got)
	}
	metrics, is, _ := unstructured.NestedString(object.Object, "spec", "etcd", "metrics")
	class, _, _ := unstructured.NestedString(object.Object, "spec", "storageClass")
	if is != found || metrics != before || class != "fast" {
		t.Errorf("metrics are %q, before they were %q; the storage class is %q", metrics, before, class)
	}
	if got := object.GetAnnotations(); len(got) != len(others(got)) {
		t.Errorf("what Graft noted stays: %v", got)
	}
	// The managed fields are updated after a removal by an admission only with the next update.
	if err := land.Client().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	expectUnchanged(t, p, "etcd-main", object)
}

// others returns the annotations without Graft's.
func others(annotations map[string]string) map[string]string {
	left := maps.Clone(annotations)
	maps.DeleteFunc(left, func(key, _ string) bool { return strings.HasPrefix(key, "graft.provider.extensions.gardener.cloud/") })
	return left
}
