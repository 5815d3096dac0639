// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// attributes is the annotation of a shoot that enables VolumeAttributesClass before Kubernetes 1.34.
const attributes = "openstack.provider.extensions.gardener.cloud/enable-volume-attributes-class"

// wantToday are the changes of the OpenStack profile on the control plane of a shoot of 1.33.6 with that annotation.
// All other objects stay unchanged: the Services, the OperatingSystemConfigs and more.
var wantToday = map[string][]string{
	"Deployment cluster-autoscaler": {"+ /spec/template/spec/containers/0/command/31 --feature-gates=VolumeAttributesClass=true"},
	"Deployment kube-apiserver": {
		"+ /spec/template/spec/containers/0/args/49 --feature-gates=VolumeAttributesClass=true",
		"+ /spec/template/spec/containers/0/args/50 --runtime-config=storage.k8s.io/v1beta1=true",
	},
	"Deployment kube-controller-manager": {
		"+ /spec/template/spec/containers/0/command/47 --cloud-provider=external",
		"+ /spec/template/spec/containers/0/command/48 --feature-gates=VolumeAttributesClass=true",
	},
	"Deployment kube-scheduler":             {"+ /spec/template/spec/containers/0/command/10 --feature-gates=VolumeAttributesClass=true"},
	"Deployment machine-controller-manager": wantSidecar("shoot--sample--flow"),
	"VerticalPodAutoscaler machine-controller-manager-vpa": {
		"+ /spec/resourcePolicy/containerPolicies/1/containerName machine-controller-manager-provider-openstack",
		"+ /spec/resourcePolicy/containerPolicies/1/controlledValues RequestsOnly",
	},
	"Etcd etcd-events": {"+ /spec/storageClass gardener.cloud-fast"},
	"Etcd etcd-main":   {"+ /spec/storageClass gardener.cloud-fast"},
}

// TestFlow writes every object of a control plane in all the ways of a seed.
func TestFlow(t *testing.T) {
	p := start(t, programOptions{Profiles: map[string]string{"openstack": ""}})
	namespace := newShoot(t, "flow", "openstack", annotated(attributes, "true"))
	objects := controlPlane(t, sample.Options{Kubernetes: "1.33.6", Namespace: namespace})
	// As the API server stores the same objects where no webhook is called.
	plain := newNamespace(t, "flow-plain", nil)

	t.Run("create", func(t *testing.T) {
		p.expectCount(t, float64(len(wantToday)+2*len(wantNodes)), "graft_admissions_total", labels{"result": "patched"}, func() {
			expectCreated(t, objects, plain, namespace, wantToday)
		})
	})
	t.Run("reset by gardenlet", func(t *testing.T) {
		for _, object := range objects {
			if _, mutated := wantToday[nameOf(in(t, namespace, object))]; mutated && object.Object.GetObjectKind().GroupVersionKind().Kind == "Deployment" {
				expectReset(t, p, in(t, namespace, object))
			}
		}
	})
	t.Run("storage of an etcd that exists", func(t *testing.T) { expectKeptStorage(t, p, namespace) })
	t.Run("already mutated", func(t *testing.T) {
		for _, object := range objects {
			if _, mutated := wantToday[nameOf(in(t, namespace, object))]; mutated {
				expectUnchanged(t, p, object.Target, in(t, namespace, object))
			}
		}
	})
	t.Run("nodes", func(t *testing.T) {
		for _, object := range objects {
			if wanted := in(t, namespace, object); wanted.GetKind() == "OperatingSystemConfig" {
				expectNodeReset(t, p, wanted)
				expectUnchanged(t, p, "operatingsystemconfig", wanted)
			}
		}
	})
	t.Run("reinvocation", func(t *testing.T) { testReinvocation(t, p) })
	t.Run("server-side apply by two managers", testApply)
	t.Run("a field that Graft does not know", testFutureField)
	t.Run("a Cluster that changes", testChangedCluster)
	t.Run("being deleted", func(t *testing.T) { testBeingDeleted(t, p) })
	t.Run("a dry run", func(t *testing.T) {
		object := deployment(newShoot(t, "dry-run", "openstack"), "kube-controller-manager")
		if err := land.Client().Create(t.Context(), object, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		expectFlags(t, object, map[string]bool{"--cloud-provider=external": true})
		expectAbsent(t, object)
	})
}

// expectCreated creates the objects in two namespaces, the first without webhooks, and compares the stored objects.
func expectCreated(t *testing.T, objects []sample.Object, plain, namespace string, want map[string][]string) {
	t.Helper()
	seen := map[string]bool{}
	for _, object := range objects {
		without, with := create(t, in(t, plain, object)), create(t, in(t, namespace, object))
		name := nameOf(with)
		seen[name] = true
		if with.GetKind() == "OperatingSystemConfig" {
			expectNode(t, without, with)
			continue
		}
		if diff := cmp.Diff(want[name], changes(without, with)); diff != "" {
			t.Errorf("what the webhooks change on %s (-want +got):\n%s", name, diff)
		}
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("the control plane has no %s", name)
		}
	}
}

// expectReset replaces the pod template by Gardener's, as gardenlet does at every reconciliation
// (controllerutils.GetAndCreateOrMergePatch), and checks that the result is the same as before: no Pod is replaced.
func expectReset(t *testing.T, p *program, wanted *unstructured.Unstructured) {
	t.Helper()
	before := stored(t, wanted)
	after := before.DeepCopy()
	template, _, _ := unstructured.NestedMap(wanted.Object, "spec", "template")
	if err := unstructured.SetNestedMap(after.Object, template, "spec", "template"); err != nil {
		t.Fatal(err)
	}
	p.expectCount(t, 1, "graft_admissions_total", labels{"result": "patched"}, func() {
		if err := land.Client().Patch(t.Context(), after, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	})
	if diff := cmp.Diff([]string(nil), changes(before, after)); diff != "" {
		t.Errorf("after a reset, %s differs (-want +got):\n%s", nameOf(wanted), diff)
	}
	if before.GetGeneration() != after.GetGeneration() {
		t.Errorf("%s: generation %d became %d: its pods would be replaced", nameOf(wanted), before.GetGeneration(), after.GetGeneration())
	}
}

// expectKeptStorage resets an etcd as gardenlet does, and checks that its storage stays.
func expectKeptStorage(t *testing.T, p *program, namespace string) {
	t.Helper()
	before := stored(t, etcd(namespace, "etcd-main"))
	after := before.DeepCopy()
	unstructured.RemoveNestedField(after.Object, "spec", "storageClass")
	if err := unstructured.SetNestedField(after.Object, "77Gi", "spec", "storageCapacity"); err != nil {
		t.Fatal(err)
	}
	p.expectCount(t, 1, "graft_admissions_total", labels{"target": "etcd-main", "result": "patched"}, func() {
		if err := land.Client().Patch(t.Context(), after, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	})
	if diff := cmp.Diff([]string(nil), changes(before, after)); diff != "" {
		t.Errorf("the storage of the etcd changed (-want +got):\n%s", diff)
	}
}

// expectUnchanged updates an object with itself, and checks that nothing changes.
func expectUnchanged(t *testing.T, p *program, target string, object *unstructured.Unstructured) {
	t.Helper()
	before := stored(t, object)
	after := before.DeepCopy()
	p.expectCount(t, 1, "graft_admissions_total", labels{"target": target, "result": "unchanged"}, func() {
		if err := land.Client().Update(t.Context(), after); err != nil {
			t.Fatal(err)
		}
	})
	if before.GetResourceVersion() != after.GetResourceVersion() || before.GetGeneration() != after.GetGeneration() {
		t.Errorf("an update without a change moved %s from resource version %s and generation %d to %s and %d", nameOf(object),
			before.GetResourceVersion(), before.GetGeneration(), after.GetResourceVersion(), after.GetGeneration())
	}
}

// testReinvocation lets a foreign webhook, which is called after Graft's, undo Graft's changes.
func testReinvocation(t *testing.T, p *program) {
	namespace := newShoot(t, "reinvocation", "openstack")
	calls := registerMutator(t, "zz-later", namespace, func(object *unstructured.Unstructured) {
		containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		container := containers[0].(map[string]any)
		command := container["command"].([]any)
		container["command"] = slices.DeleteFunc(command, func(item any) bool { return item == "--cloud-provider=external" })
		_ = unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")
		object.SetAnnotations(map[string]string{"later": "was here"})
	})
	object := deployment(namespace, "kube-controller-manager", "--cloud-config=/x", "--v=2")
	p.expectCount(t, 2, "graft_admissions_total", labels{"target": "kube-controller-manager", "result": "patched"}, func() { create(t, object) })
	if got := calls.Load(); got != 1 {
		t.Errorf("the other webhook was called %d times, want once", got)
	}
	if object.GetAnnotations()["later"] != "was here" {
		t.Error("what the other webhook did was lost")
	}
	if diff := cmp.Diff([]string{"/kube-controller-manager", "--v=2", "--cloud-provider=external"}, commandOf(t, object)); diff != "" {
		t.Errorf("the command (-want +got):\n%s", diff)
	}
}

// testApply writes an object by server-side apply: each manager keeps its fields, and Graft's fields stay too.
func testApply(t *testing.T) {
	namespace := newShoot(t, "apply", "openstack")
	object := deployment(namespace, "kube-controller-manager", "--v=2")
	apply := func(object *unstructured.Unstructured, manager string) {
		t.Helper()
		if err := land.Client().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(manager)); err != nil {
			t.Fatal(err)
		}
	}
	apply(object.DeepCopy(), "gardenlet")
	apply(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "kube-controller-manager", "namespace": namespace, "annotations": map[string]any{"other": "x"}},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": "kube-controller-manager", "env": []any{map[string]any{"name": "OTHER", "value": "1"}}},
		}}}},
	}}, "other")
	apply(object.DeepCopy(), "gardenlet")

	result := stored(t, object)
	expectFlags(t, result, map[string]bool{"--cloud-provider=external": true, "--v=2": true})
	containers, _, _ := unstructured.NestedSlice(result.Object, "spec", "template", "spec", "containers")
	env, _, _ := unstructured.NestedSlice(containers[0].(map[string]any), "env")
	if diff := cmp.Diff([]any{map[string]any{"name": "OTHER", "value": "1"}}, env); diff != "" {
		t.Errorf("env of the other manager (-want +got):\n%s", diff)
	}
	owned := map[string]map[string]any{}
	for _, entry := range result.GetManagedFields() {
		fields := map[string]any{}
		if err := json.Unmarshal(entry.FieldsV1.Raw, &fields); err != nil {
			t.Fatal(err)
		}
		owned[entry.Manager+" by "+string(entry.Operation)] = fields
	}
	if _, found, _ := unstructured.NestedFieldNoCopy(owned["other by Apply"], "f:metadata", "f:annotations", "f:other"); !found {
		t.Errorf("the other manager lost its annotation: %v", owned)
	}
	command := []string{"f:spec", "f:template", "f:spec", "f:containers", `k:{"name":"kube-controller-manager"}`, "f:command"}
	if _, found, _ := unstructured.NestedFieldNoCopy(owned["gardenlet by Apply"], command...); !found {
		t.Errorf("gardenlet lost the command: %v", owned)
	}
	if len(owned) != 2 {
		t.Errorf("there are managers besides the two: %v", owned)
	}
}

// testFutureField gives the definition of Etcd a field that this version of Graft has never heard of.
func testFutureField(t *testing.T) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := land.Client().Get(t.Context(), client.ObjectKey{Name: "etcds.druid.gardener.cloud"}, definition); err != nil {
		t.Fatal(err)
	}
	preserve := true
	spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	spec.Properties["futureField"] = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}
	definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = spec
	if err := land.Client().Update(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := land.InstallCRDs(context.Background(), landscape.Druid); err != nil {
			t.Error(err)
		}
	})
	object := etcd(newShoot(t, "future", "openstack"), "etcd-main")
	future := map[string]any{"list": []any{int64(1), "two", map[string]any{"three": 3.5}}, "empty": map[string]any{}, "large": int64(9007199254740993)}
	if err := unstructured.SetNestedMap(object.Object, future, "spec", "futureField"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new field to be served", func() error {
		probe := object.DeepCopy()
		if err := land.Client().Create(t.Context(), probe, client.DryRunAll); err != nil {
			return err
		}
		if _, found, _ := unstructured.NestedMap(probe.Object, "spec", "futureField"); !found {
			time.Sleep(100 * time.Millisecond)
			return errNotYet
		}
		return nil
	})
	create(t, object)
	got, _, _ := unstructured.NestedMap(object.Object, "spec", "futureField")
	if diff := cmp.Diff(future, got); diff != "" {
		t.Errorf("the field (-want +got):\n%s", diff)
	}
	if class, _, _ := unstructured.NestedString(object.Object, "spec", "storageClass"); class != "gardener.cloud-fast" {
		t.Errorf("the storage class is %q", class)
	}
}

// testChangedCluster changes the Shoot in a cached Cluster: the next reconciliation uses the new version.
func testChangedCluster(t *testing.T) {
	const gate = "--feature-gates=VolumeAttributesClass=true"
	namespace := newShoot(t, "changed", "openstack")
	object := create(t, deployment(namespace, "kube-scheduler"))
	expectFlags(t, object, map[string]bool{gate: false})
	newShoot(t, "changed", "openstack", annotated(attributes, "true"))
	eventually(t, "the change to be seen", func() error {
		if err := land.Client().Update(t.Context(), object); err != nil {
			return err
		}
		if !slices.Contains(commandOf(t, object), gate) {
			return errNotYet
		}
		return nil
	})
}

// testBeingDeleted updates an object that only waits for its finalizer.
func testBeingDeleted(t *testing.T, p *program) {
	object := deployment(newShoot(t, "deleted", "openstack"), "kube-controller-manager", "--v=2")
	object.SetFinalizers([]string{"example.com/wait"})
	create(t, object)
	if err := land.Client().Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	object = stored(t, object)
	if object.GetDeletionTimestamp() == nil {
		t.Fatal("the object is not being deleted")
	}
	fresh := deployment(object.GetNamespace(), "kube-controller-manager", "--v=3")
	object.Object["spec"] = fresh.Object["spec"]
	object.SetFinalizers([]string{"example.com/wait"})
	p.expectCount(t, 0, "graft_admissions_total", nil, func() {
		if err := land.Client().Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	})
	expectFlags(t, object, map[string]bool{"--cloud-provider=external": false, "--v=3": true})
	object.SetFinalizers(nil)
	if err := land.Client().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	expectAbsent(t, object)
}
