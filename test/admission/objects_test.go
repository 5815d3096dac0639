// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// TestObjects checks that rules reach objects outside of the contract by name and prefix, and that other objects cause
// no call.
func TestObjects(t *testing.T) {
	p := start(t, programOptions{Profiles: map[string]string{"acme": head("acme", "acme") + objectRules}})
	namespace := newShoot(t, "objects", "acme")
	config := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": namespace},
		}}
	}
	const region = "region-1" // of the landscape's shoots
	notes := map[string]string{"acme.example.com/first": "one in " + region, "acme.example.com/second": "two in " + region}

	exact := config("cloud-provider-config")
	exact.Object["data"] = map[string]any{"cloud.yaml": "# of the cloud\nglobal: {region: x, other: 1}\nzones:\n- a\n"}
	p.expectCount(t, 1, "graft_admissions_total", labels{"target": "ConfigMap/cloud-provider-config", "result": "patched"}, func() { create(t, exact) })
	if diff := cmp.Diff(notes, others(exact.GetAnnotations())); diff != "" || exact.GetLabels()["acme.example.com/exact"] != "yes" {
		t.Errorf("labels %v, annotations (-want +got):\n%s", exact.GetLabels(), diff)
	}
	edited, _, _ := unstructured.NestedString(exact.Object, "data", "cloud.yaml")
	if diff := cmp.Diff("# of the cloud\nglobal: {region: "+region+", other: 1}\nzones:\n- a\n- b\n", edited); diff != "" {
		t.Errorf("the document (-want +got):\n%s", diff)
	}
	p.expectCount(t, 1, "graft_rules_total", labels{"result": "observed"}, func() {
		p.expectCount(t, 0, "graft_rules_total", labels{"result": "changed"}, func() { update(t, exact, "other", "x") })
	})
	p.expectCount(t, 1, "graft_rules_total", labels{"result": "unchanged", "rule": "ConfigMap/cloud-provider-config[2].annotations"}, func() {
		p.expectCount(t, 0, "graft_rules_total", labels{"result": "observed"}, func() {
			before, annotations := exact.DeepCopy(), exact.GetAnnotations()
			annotations["acme.example.com/observed"] = "yes"
			exact.SetAnnotations(annotations)
			if err := land.Client().Patch(t.Context(), exact, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
		})
	})

	begun := config("cloud-init")
	p.expectCount(t, 1, "graft_admissions_total", labels{"target": "ConfigMap/cloud-*", "result": "patched"}, func() { create(t, begun) })
	if diff := cmp.Diff(notes, others(begun.GetAnnotations())); diff != "" || begun.GetLabels() != nil {
		t.Errorf("labels %v, annotations (-want +got):\n%s", begun.GetLabels(), diff)
	}
	p.expectCount(t, 1, "graft_admissions_total", labels{"target": "ConfigMap/cloud-*", "result": "denied"}, func() {
		failing := config("cloud-fail")
		failing.SetLabels(map[string]string{"fail": "yes"})
		expectDenied(t, land.Client().Create(t.Context(), failing), http.StatusInternalServerError, "ExpressionFailed: ", "ConfigMap/cloud-*[1].annotations")
	})
	p.expectCount(t, 0, "graft_admissions_total", nil, func() {
		create(t, config("other"))
		create(t, deployment(namespace, "cloud-controller-manager"))
	})

	agent := deployment(namespace, "agent", "--v=2")
	agent.SetKind("DaemonSet")
	create(t, agent)
	if diff := cmp.Diff([]string{"/agent", "--region=" + region}, commandOf(t, agent)); diff != "" {
		t.Errorf("the command (-want +got):\n%s", diff)
	}
}

// update sets a label by a merge patch.
func update(t *testing.T, object *unstructured.Unstructured, label, value string) {
	t.Helper()
	before := object.DeepCopy()
	set := object.GetLabels()
	if set == nil {
		set = map[string]string{}
	}
	set[label] = value
	object.SetLabels(set)
	if err := land.Client().Patch(t.Context(), object, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}
