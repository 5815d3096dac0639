// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// newShoot makes the namespace and the Cluster of a shoot, and returns the name of the namespace.
func newShoot(ctx context.Context, name, provider string, change ...func(*landscape.ShootOptions)) string {
	GinkgoHelper()
	options := landscape.ShootOptions{Shoot: landscape.NewShoot(name, provider, "1.33.6")}
	for _, f := range change {
		f(&options)
	}
	namespace, err := land.CreateShoot(ctx, options)
	Expect(err).NotTo(HaveOccurred())
	return namespace
}

// annotated annotates the Shoot.
func annotated(key, value string) func(*landscape.ShootOptions) {
	return func(o *landscape.ShootOptions) { metav1.SetMetaDataAnnotation(&o.Shoot.ObjectMeta, key, value) }
}

// version sets the Shoot's version of Kubernetes.
func version(kubernetes string) func(*landscape.ShootOptions) {
	return func(o *landscape.ShootOptions) { o.Shoot.Spec.Kubernetes.Version = kubernetes }
}

// newNamespace creates a namespace with exactly these labels.
func newNamespace(ctx context.Context, name string, labels map[string]string) string {
	GinkgoHelper()
	Expect(land.Client().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})).
		To(Succeed())
	return name
}

// controlPlane writes the objects that Gardener's component code writes.
func controlPlane(ctx context.Context, options sample.Options) []sample.Object {
	GinkgoHelper()
	objects, err := sample.ControlPlane(ctx, options)
	Expect(err).NotTo(HaveOccurred())
	return objects
}

// in is a sample object as it is sent to the API server, in a namespace.
func in(namespace string, object sample.Object) *unstructured.Unstructured {
	GinkgoHelper()
	u := &unstructured.Unstructured{}
	Expect(json.Unmarshal(object.JSON, u)).To(Succeed())
	u.SetNamespace(namespace)
	return u
}

// create stores an object and returns it as it was stored.
func create(ctx context.Context, object *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	Expect(land.Client().Create(ctx, object)).To(Succeed(), "creating %s", nameOf(object))
	return object
}

// stored reads an object.
func stored(ctx context.Context, object *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(object.GroupVersionKind())
	Expect(land.Client().Get(ctx, client.ObjectKeyFromObject(object), found)).To(Succeed(), "reading %s", nameOf(object))
	return found
}

// expectAbsent checks that an object was not stored.
func expectAbsent(ctx context.Context, object *unstructured.Unstructured) {
	GinkgoHelper()
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(object.GroupVersionKind())
	err := land.Client().Get(ctx, client.ObjectKeyFromObject(object), found)
	Expect(err).To(MatchError(apierrors.IsNotFound, "IsNotFound"), "reading %s, whose admission was denied",
		nameOf(object))
}

func nameOf(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}

// deployment is a small Deployment with one container that is named like the component, with a command of some flags.
func deployment(namespace, name string, flags ...string) *unstructured.Unstructured {
	component := strings.TrimPrefix(name, "virtual-garden-")
	command := []any{"/" + component}
	for _, flag := range flags {
		command = append(command, flag)
	}
	selected := map[string]any{"app": name}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": selected},
			"template": map[string]any{
				"metadata": map[string]any{"labels": selected},
				"spec": map[string]any{"containers": []any{map[string]any{
					"name": component, "image": "registry.example.com/" + component + ":v1", "command": command,
				}}},
			},
		},
	}}
}

// etcd is a small Etcd of etcd-druid.
func etcd(namespace, name string) *unstructured.Unstructured {
	labels := map[string]any{"app": name}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "druid.gardener.cloud/v1alpha1", "kind": "Etcd",
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"spec": map[string]any{
			"replicas": int64(1), "labels": labels, "selector": map[string]any{"matchLabels": labels},
			"etcd": map[string]any{}, "backup": map[string]any{},
		},
	}}
}

// vpa is a VerticalPodAutoscaler.
func vpa(namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"spec": map[string]any{
			"targetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": strings.TrimSuffix(name, "-vpa")},
		},
	}}
}

// commandOf is the command of the first container.
func commandOf(object *unstructured.Unstructured) []string {
	GinkgoHelper()
	containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	Expect(err).NotTo(HaveOccurred(), "reading the containers of %s", nameOf(object))
	Expect(containers).NotTo(BeEmpty(), "containers of %s", nameOf(object))
	command, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "command")
	Expect(err).NotTo(HaveOccurred())
	return command
}

// expectFlags holds which of some flags (--name=value) are in the command, and that each is there once.
func expectFlags(object *unstructured.Unstructured, flags map[string]bool) {
	GinkgoHelper()
	command := commandOf(object)
	for flag, want := range flags {
		count := 0
		for _, item := range command {
			if item == flag {
				count++
			}
		}
		times := map[bool]int{true: 1, false: 0}[want]
		Expect(count).To(Equal(times), "%s in the command of %s in %s: %q", flag, nameOf(object), object.GetNamespace(),
			command)
	}
}

// bookkeeping are the fields of an object that differ between namespaces and writes.
var bookkeeping = []string{"/metadata/creationTimestamp", "/metadata/generation", "/metadata/managedFields",
	"/metadata/namespace",
	"/metadata/resourceVersion", "/metadata/uid", "/spec/clusterIP", "/spec/ports/0/nodePort", "/status",
	// marks_test.go checks Graft's annotations.
	"/metadata/annotations/graft.provider.extensions.gardener.cloud~1",
}

// changes returns the differences between two objects, one line for each, without server-side bookkeeping.
func changes(before, after *unstructured.Unstructured) []string {
	was, is := map[string]string{}, map[string]string{}
	flatten("", before.Object, was)
	flatten("", after.Object, is)
	var lines []string
	for path, value := range is {
		switch old, found := was[path]; {
		case !found:
			lines = append(lines, "+ "+path+" "+value)
		case old != value:
			lines = append(lines, "~ "+path+" "+old+" -> "+value)
		}
	}
	for path, value := range was {
		if _, found := is[path]; !found {
			lines = append(lines, "- "+path+" "+value)
		}
	}
	slices.Sort(lines)
	return lines
}

// flatten records the path of every scalar and of every empty list and map.
func flatten(path string, value any, into map[string]string) {
	if slices.ContainsFunc(bookkeeping, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			into[path] = "{}"
		}
		for key, member := range maps.All(value) {
			flatten(path+"/"+strings.ReplaceAll(key, "/", "~1"), member, into)
		}
	case []any:
		if len(value) == 0 {
			into[path] = "[]"
		}
		for i, item := range value {
			flatten(fmt.Sprintf("%s/%d", path, i), item, into)
		}
	default:
		into[path] = fmt.Sprint(value)
	}
}

var beacons int

// syncWebhooks returns when the kube-apiserver uses every earlier MutatingWebhookConfiguration: it processes them in
// the order of their writes, so it is sufficient to see the effect of a new one.
func syncWebhooks(ctx context.Context) {
	GinkgoHelper()
	beacons++
	name := fmt.Sprintf("beacon-%d", beacons)
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:         name + ".example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/" + name)},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
					Resources: []string{"configmaps"}},
			}},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "beacon",
				Expression: fmt.Sprintf("request.name == %q", name)}},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	Expect(land.Client().Create(ctx, configuration)).To(Succeed())
	defer func() {
		Expect(land.Client().Delete(ctx, configuration)).To(Succeed())
	}()
	Eventually(func() error {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
		err := land.Client().Create(ctx, probe, client.DryRunAll)
		if err != nil && strings.Contains(err.Error(), name+".example.com") {
			return nil
		}
		return errors.Join(errors.New("the beacon was not called"), err)
	}).Should(Succeed(), "the kube-apiserver to know the registrations")
}
