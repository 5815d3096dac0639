// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
	"Deployment cluster-autoscaler": {"+ /spec/template/spec/containers/0/command/31 " +
		"--feature-gates=VolumeAttributesClass=true"},
	"Deployment kube-apiserver": {
		"+ /spec/template/spec/containers/0/args/49 --feature-gates=VolumeAttributesClass=true",
		"+ /spec/template/spec/containers/0/args/50 --runtime-config=storage.k8s.io/v1beta1=true",
	},
	"Deployment kube-controller-manager": {
		"+ /spec/template/spec/containers/0/command/47 --cloud-provider=external",
		"+ /spec/template/spec/containers/0/command/48 --feature-gates=VolumeAttributesClass=true",
	},
	"Deployment kube-scheduler": {"+ /spec/template/spec/containers/0/command/10 " +
		"--feature-gates=VolumeAttributesClass=true"},
	"Deployment machine-controller-manager": wantSidecar("shoot--sample--flow"),
	"VerticalPodAutoscaler machine-controller-manager-vpa": {
		"+ /spec/resourcePolicy/containerPolicies/1/containerName machine-controller-manager-provider-openstack",
		"+ /spec/resourcePolicy/containerPolicies/1/controlledValues RequestsOnly",
	},
	"Etcd etcd-events": {"+ /spec/storageClass gardener.cloud-fast"},
	"Etcd etcd-main":   {"+ /spec/storageClass gardener.cloud-fast"},
}

// The specs take every object of a control plane the ways that it goes in a seed.
var _ = Describe("the admission of a control plane", Ordered, func() {
	var (
		p                *program
		namespace, plain string
		objects          []sample.Object
	)

	BeforeAll(func(ctx SpecContext) {
		p = start(ctx, programOptions{Profiles: map[string]string{"openstack": ""}})
		namespace = newShoot(ctx, "flow", "openstack", annotated(attributes, "true"))
		objects = controlPlane(ctx, sample.Options{Kubernetes: "1.33.6", Namespace: namespace})
		// As the API server stores the same objects where no webhook is called.
		plain = newNamespace(ctx, "flow-plain", nil)

	})

	It("mutates every object of a control plane, and nothing else", func(ctx SpecContext) {
		p.expectCount(float64(len(wantToday)+2*len(wantNodes)), "graft_admissions_total", labels{"result": "patched"},
			func() {
				expectCreated(ctx, objects, plain, namespace, wantToday)
			})
	})
	It("restores what gardenlet resets, so that no Pod is replaced", func(ctx SpecContext) {
		for _, object := range objects {
			if _, mutated := wantToday[nameOf(in(namespace, object))]; mutated &&
				object.Object.GetObjectKind().GroupVersionKind().Kind == "Deployment" {
				expectReset(ctx, p, in(namespace, object))
			}
		}
	})
	It("keeps the storage of an existing etcd", func(ctx SpecContext) { expectKeptStorage(ctx, p, namespace) })
	It("leaves an object that is right already", func(ctx SpecContext) {
		for _, object := range objects {
			if _, mutated := wantToday[nameOf(in(namespace, object))]; mutated {
				expectUnchanged(ctx, p, object.Target, in(namespace, object))
			}
		}
	})
	It("restores units and files of nodes that gardenlet resets", func(ctx SpecContext) {
		for _, object := range objects {
			if wanted := in(namespace, object); wanted.GetKind() == "OperatingSystemConfig" {
				expectNodeReset(ctx, p, wanted)
				expectUnchanged(ctx, p, "operatingsystemconfig", wanted)
			}
		}
	})
	It("mutates an object again after a later webhook removed its change",
		func(ctx SpecContext) { testReinvocation(ctx, p) })
	It("keeps the fields of each manager in a server-side apply", func(ctx SpecContext) { testApply(ctx) })
	It("keeps a field that Graft does not know", func(ctx SpecContext) { testFutureField(ctx) })
	It("follows a Cluster that changes", func(ctx SpecContext) { testChangedCluster(ctx) })
	It("ignores an object that is being deleted", func(ctx SpecContext) { testBeingDeleted(ctx, p) })
	It("mutates in a dry run, too", func(ctx SpecContext) {
		object := deployment(newShoot(ctx, "dry-run", "openstack"), "kube-controller-manager")
		Expect(land.Client().Create(ctx, object, client.DryRunAll)).To(Succeed())
		expectFlags(object, map[string]bool{"--cloud-provider=external": true})
		expectAbsent(ctx, object)
	})
})

// expectCreated creates the objects in two namespaces, the first without webhooks, and compares the stored objects.
func expectCreated(ctx context.Context, objects []sample.Object, plain, namespace string, want map[string][]string) {
	GinkgoHelper()
	seen := map[string]bool{}
	for _, object := range objects {
		without, with := create(ctx, in(plain, object)), create(ctx, in(namespace, object))
		name := nameOf(with)
		seen[name] = true
		if with.GetKind() == "OperatingSystemConfig" {
			expectNode(without, with)
			continue
		}
		Expect(changes(without, with)).To(BeComparableTo(want[name]), "what the webhooks change on %s", name)
	}
	for name := range want {
		Expect(seen).To(HaveKey(name), "objects of the control plane")
	}
}

// expectReset replaces the pod template by Gardener's, as gardenlet does at every reconciliation
// (controllerutils.GetAndCreateOrMergePatch), and checks that the result is the same as before: no Pod is replaced.
func expectReset(ctx context.Context, p *program, wanted *unstructured.Unstructured) {
	GinkgoHelper()
	before := stored(ctx, wanted)
	after := before.DeepCopy()
	template, _, _ := unstructured.NestedMap(wanted.Object, "spec", "template")
	Expect(unstructured.SetNestedMap(after.Object, template, "spec", "template")).To(Succeed())
	p.expectCount(1, "graft_admissions_total", labels{"result": "patched"}, func() {
		Expect(land.Client().Patch(ctx, after, client.MergeFrom(before))).To(Succeed())
	})
	Expect(changes(before, after)).To(BeEmpty(), "after a reset, %s differs", nameOf(wanted))
	Expect(after.GetGeneration()).
		To(Equal(before.GetGeneration()), "the generation of %s; another one replaces Pods", nameOf(wanted))
}

// expectKeptStorage resets an etcd as gardenlet does, and checks that its storage stays.
func expectKeptStorage(ctx context.Context, p *program, namespace string) {
	GinkgoHelper()
	before := stored(ctx, etcd(namespace, "etcd-main"))
	after := before.DeepCopy()
	unstructured.RemoveNestedField(after.Object, "spec", "storageClass")
	Expect(unstructured.SetNestedField(after.Object, "77Gi", "spec", "storageCapacity")).To(Succeed())
	p.expectCount(1, "graft_admissions_total", labels{"target": "etcd-main", "result": "patched"}, func() {
		Expect(land.Client().Patch(ctx, after, client.MergeFrom(before))).To(Succeed())
	})
	Expect(changes(before, after)).To(BeEmpty(), "changes to the stored etcd")
}

// expectUnchanged updates an object with itself, and checks that nothing changes.
func expectUnchanged(ctx context.Context, p *program, target string, object *unstructured.Unstructured) {
	GinkgoHelper()
	before := stored(ctx, object)
	after := before.DeepCopy()
	p.expectCount(1, "graft_admissions_total", labels{"target": target, "result": "unchanged"}, func() {
		Expect(land.Client().Update(ctx, after)).To(Succeed())
	})
	Expect(after.GetResourceVersion()).
		To(Equal(before.GetResourceVersion()), "version of the unchanged %s", nameOf(object))
	Expect(after.GetGeneration()).To(Equal(before.GetGeneration()), "generation of the unchanged %s", nameOf(object))
}

// testReinvocation lets a foreign webhook, which is called after Graft's, revert Graft's changes.
func testReinvocation(ctx context.Context, p *program) {
	namespace := newShoot(ctx, "reinvocation", "openstack")
	calls := registerMutator(ctx, "zz-later", namespace, func(object *unstructured.Unstructured) {
		containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		container := containers[0].(map[string]any)
		command := container["command"].([]any)
		container["command"] = slices.DeleteFunc(command, func(item any) bool { return item == "--cloud-provider=external" })
		_ = unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")
		object.SetAnnotations(map[string]string{"later": "was here"})
	})
	object := deployment(namespace, "kube-controller-manager", "--cloud-config=/x", "--v=2")
	p.expectCount(2, "graft_admissions_total", labels{"target": "kube-controller-manager", "result": "patched"},
		func() { create(ctx, object) })
	Expect(calls.Load()).To(BeNumerically("==", 1), "calls of the other webhook")
	Expect(object.GetAnnotations()["later"]).To(Equal("was here"), "the annotation of the other webhook")
	Expect(commandOf(object)).To(BeComparableTo([]string{"/kube-controller-manager", "--v=2",
		"--cloud-provider=external"}), "the command")
}

// testApply writes an object by server-side apply: each manager keeps its fields, and Graft's fields stay too.
func testApply(ctx context.Context) {
	namespace := newShoot(ctx, "apply", "openstack")
	object := deployment(namespace, "kube-controller-manager", "--v=2")
	apply := func(object *unstructured.Unstructured, manager string) {
		GinkgoHelper()
		Expect(land.Client().Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(manager))).
			To(Succeed())
	}
	apply(object.DeepCopy(), "gardenlet")
	apply(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "kube-controller-manager", "namespace": namespace,
			"annotations": map[string]any{"other": "x"}},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": "kube-controller-manager", "env": []any{map[string]any{"name": "OTHER", "value": "1"}}},
		}}}},
	}}, "other")
	apply(object.DeepCopy(), "gardenlet")

	result := stored(ctx, object)
	expectFlags(result, map[string]bool{"--cloud-provider=external": true, "--v=2": true})
	containers, _, _ := unstructured.NestedSlice(result.Object, "spec", "template", "spec", "containers")
	env, _, _ := unstructured.NestedSlice(containers[0].(map[string]any), "env")
	Expect(env).To(BeComparableTo([]any{map[string]any{"name": "OTHER", "value": "1"}}), "env of the other manager")
	owned := map[string]map[string]any{}
	for _, entry := range result.GetManagedFields() {
		fields := map[string]any{}
		Expect(json.Unmarshal(entry.FieldsV1.Raw, &fields)).To(Succeed())
		owned[entry.Manager+" by "+string(entry.Operation)] = fields
	}
	_, found, _ := unstructured.NestedFieldNoCopy(owned["other by Apply"], "f:metadata", "f:annotations", "f:other")
	Expect(found).To(BeTrue(), "the other manager owns its annotation: %v", owned)
	command := []string{"f:spec", "f:template", "f:spec", "f:containers", `k:{"name":"kube-controller-manager"}`,
		"f:command"}
	_, found, _ = unstructured.NestedFieldNoCopy(owned["gardenlet by Apply"], command...)
	Expect(found).To(BeTrue(), "gardenlet owns the command: %v", owned)
	Expect(owned).To(HaveLen(2), "managers of fields")
}

// testFutureField adds a field to the definition of Etcd that this version of Graft does not know.
func testFutureField(ctx context.Context) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	Expect(land.Client().Get(ctx, client.ObjectKey{Name: "etcds.druid.gardener.cloud"}, definition)).To(Succeed())
	preserve := true
	spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	spec.Properties["futureField"] = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}
	definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = spec
	Expect(land.Client().Update(ctx, definition)).To(Succeed())
	DeferCleanup(func() {
		Expect(land.InstallCRDs(context.Background(), landscape.Druid)).To(Succeed())
	})
	object := etcd(newShoot(ctx, "future", "openstack"), "etcd-main")
	future := map[string]any{"list": []any{int64(1), "two", map[string]any{"three": 3.5}}, "empty": map[string]any{},
		"large": int64(9007199254740993)}
	Expect(unstructured.SetNestedMap(object.Object, future, "spec", "futureField")).To(Succeed())
	Eventually(func() error {
		probe := object.DeepCopy()
		if err := land.Client().Create(ctx, probe, client.DryRunAll); err != nil {
			return err
		}
		if _, found, _ := unstructured.NestedMap(probe.Object, "spec", "futureField"); !found {
			time.Sleep(100 * time.Millisecond)
			return errNotYet
		}
		return nil
	}).Should(Succeed(), "waiting for the new field to be served")
	create(ctx, object)
	got, _, _ := unstructured.NestedMap(object.Object, "spec", "futureField")
	Expect(got).To(BeComparableTo(future), "the unknown field")
	class, _, _ := unstructured.NestedString(object.Object, "spec", "storageClass")
	Expect(class).To(Equal("gardener.cloud-fast"), "the storage class")
}

// testChangedCluster changes the Shoot in a cached Cluster: the next reconciliation uses the new version.
func testChangedCluster(ctx context.Context) {
	const gate = "--feature-gates=VolumeAttributesClass=true"
	namespace := newShoot(ctx, "changed", "openstack")
	object := create(ctx, deployment(namespace, "kube-scheduler"))
	expectFlags(object, map[string]bool{gate: false})
	newShoot(ctx, "changed", "openstack", annotated(attributes, "true"))
	Eventually(func() error {
		if err := land.Client().Update(ctx, object); err != nil {
			return err
		}
		if !slices.Contains(commandOf(object), gate) {
			return errNotYet
		}
		return nil
	}).Should(Succeed(), "waiting for the change to be seen")
}

// testBeingDeleted updates an object that only waits for its finalizer.
func testBeingDeleted(ctx context.Context, p *program) {
	object := deployment(newShoot(ctx, "deleted", "openstack"), "kube-controller-manager", "--v=2")
	object.SetFinalizers([]string{"example.com/wait"})
	create(ctx, object)
	Expect(land.Client().Delete(ctx, object)).To(Succeed())
	object = stored(ctx, object)
	Expect(object.GetDeletionTimestamp()).NotTo(BeNil(), "the time of the deletion")
	fresh := deployment(object.GetNamespace(), "kube-controller-manager", "--v=3")
	object.Object["spec"] = fresh.Object["spec"]
	object.SetFinalizers([]string{"example.com/wait"})
	p.expectCount(0, "graft_admissions_total", nil, func() {
		Expect(land.Client().Update(ctx, object)).To(Succeed())
	})
	expectFlags(object, map[string]bool{"--cloud-provider=external": false, "--v=3": true})
	object.SetFinalizers(nil)
	Expect(land.Client().Update(ctx, object)).To(Succeed())
	expectAbsent(ctx, object)
}
