// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// TestInstall installs each chart with each of its values.
func TestInstall(t *testing.T) {
	kinds := map[string]bool{}
	for _, o := range all(t) {
		t.Run(o.String(), func(t *testing.T) {
			objects := o.render(t, newNamespace(t, "privileged"))
			apply(t, objects)
			for _, object := range objects {
				kinds[object.GetKind()] = true
			}
			remove(t, objects)
		})
	}
	// Those whose definitions are of others must have been among them.
	for _, kind := range []string{
		"Certificate", "PrometheusRule", "VerticalPodAutoscaler", "HorizontalPodAutoscaler", "NetworkPolicy", "DaemonSet", "PersistentVolumeClaim",
	} {
		if !kinds[kind] {
			t.Errorf("no chart has installed a %s", kind)
		}
	}
}

// TestUnknown checks that the API server rejects unknown fields, which TestInstall relies on.
func TestUnknown(t *testing.T) {
	namespace := newNamespace(t, "privileged")
	for _, manifest := range []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndta: {}\n",
		"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a}\nspec: {secretName: a, issuerRef: {name: a}, dnsName: [a]}\n",
		"apiVersion: autoscaling.k8s.io/v1\nkind: VerticalPodAutoscaler\nmetadata: {name: a}\nspec: {targetRef: {kind: Deployment, name: a}, updates: {}}\n",
	} {
		object := parse(t, manifest)[0]
		object.SetNamespace(namespace)
		if err := seed.Client().Create(t.Context(), object, client.FieldValidation("Strict")); err == nil || !strings.Contains(err.Error(), "unknown field") {
			t.Errorf("%s was taken: %v", object.GetKind(), err)
		}
	}
}

// TestExtension checks the objects for gardener-operator.
func TestExtension(t *testing.T) {
	if err := defined(t.Context(), "extensions.operator.gardener.cloud"); err != nil {
		t.Fatal(err)
	}
	apply(t, parse(t, mustRead(t, root+"/example/extension.yaml")))
}

// template is that of a workload, as a Pod.
func template(t *testing.T, object *unstructured.Unstructured) *corev1.Pod {
	t.Helper()
	var workload appsv1.Deployment // a DaemonSet has its template at the same place
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &workload); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: workload.Spec.Template.ObjectMeta, Spec: workload.Spec.Template.Spec}
	pod.Name, pod.Namespace = "it", object.GetNamespace()
	return pod
}

// TestSecurity checks Pods with the Pod Security Standard restricted: only those on nodes need more, and the test lists
// it.
func TestSecurity(t *testing.T) {
	const hostPath = `restricted volume types`
	want := map[string][]string{
		"graft-network-provider/defaults":         {hostPath, "runAsNonRoot != true", "runAsUser=0"},
		"graft-network-provider/nodes-on-etcd":    {hostPath, "runAsNonRoot != true", "runAsUser=0"},
		"graft-network-provider/prepared-folders": {hostPath},
		"graft-network-provider/node":             {"host namespaces", "hostPort", `must not include "NET_ADMIN"`, hostPath, "runAsNonRoot != true"},
	}
	looked := 0
	for _, o := range all(t) {
		t.Run(o.String(), func(t *testing.T) {
			for _, object := range o.render(t, newNamespace(t, "restricted")) {
				if object.GetKind() != "Deployment" && object.GetKind() != "DaemonSet" {
					continue
				}
				looked++
				err := seed.Client().Create(t.Context(), template(t, object), client.DryRunAll)
				needs := want[o.String()]
				if len(needs) == 0 && err != nil {
					t.Error(err)
				}
				for _, need := range needs {
					if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), need) {
						t.Errorf("it does not need %q: %v", need, err)
					}
				}
			}
		})
	}
	if looked < 10 {
		t.Errorf("%d workloads were looked at", looked)
	}
}

// TestPermissions asks the API server for the permissions of the charts' accounts.
func TestPermissions(t *testing.T) {
	for name, test := range map[string]struct {
		one
		may, not []authorizationv1.ResourceAttributes
	}{
		"network provider": {
			one: one{"graft-network-provider", "defaults"},
			may: []authorizationv1.ResourceAttributes{
				{Verb: "watch", Resource: "pods"}, {Verb: "list", Group: "resource.k8s.io", Resource: "resourceclaims"},
				{Verb: "create", Group: "events.k8s.io", Resource: "events"},
			},
			not: []authorizationv1.ResourceAttributes{
				{Verb: "get", Resource: "secrets"}, {Verb: "delete", Resource: "pods"}, {Verb: "update", Group: "resource.k8s.io", Resource: "resourceclaims"},
				{Verb: "list", Resource: "configmaps"}, {Verb: "get", Resource: "nodes"},
			},
		},
		"network provider that does not look": {
			one: one{"graft-network-provider", "nodes-on-etcd"},
			not: []authorizationv1.ResourceAttributes{{Verb: "list", Resource: "pods"}, {Verb: "create", Resource: "events"}},
		},
		"interpreter": {
			one: one{"graft-resource-interpreter", "defaults"},
			may: []authorizationv1.ResourceAttributes{
				{Verb: "create", Resource: "secrets"}, {Verb: "update", Resource: "secrets", Name: "graft-resource-interpreter-tls"},
				{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Name: "graft-resource-interpreter"},
				{Verb: "update", Group: "config.karmada.io", Resource: "resourceinterpreterwebhookconfigurations", Name: "graft-resource-interpreter"},
			},
			not: []authorizationv1.ResourceAttributes{
				{Verb: "get", Resource: "secrets", Name: "another"}, {Verb: "list", Resource: "secrets"}, {Verb: "get", Resource: "configmaps"},
				{Verb: "update", Group: "config.karmada.io", Resource: "resourceinterpreterwebhookconfigurations", Name: "another"},
			},
		},
		"interpreter with a certificate of somebody else": {
			one: one{"graft-resource-interpreter", "given-secret"},
			not: []authorizationv1.ResourceAttributes{
				{Verb: "get", Resource: "secrets", Name: "public"}, {Verb: "create", Group: "coordination.k8s.io", Resource: "leases"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := newNamespace(t, "privileged")
			objects := test.render(t, namespace)
			apply(t, objects)
			defer remove(t, objects)
			settle(t, namespace)
			for allowed, questions := range map[bool][]authorizationv1.ResourceAttributes{true: test.may, false: test.not} {
				for _, question := range questions {
					question.Namespace = namespace
					review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
						User: fmt.Sprintf("system:serviceaccount:%s:%s", namespace, test.chart), ResourceAttributes: &question,
					}}
					if err := seed.Client().Create(t.Context(), review); err != nil {
						t.Fatal(err)
					}
					if review.Status.Allowed != allowed {
						t.Errorf("%+v: allowed is %t", question, review.Status.Allowed)
					}
				}
			}
		})
	}
}

// settle returns when the API server goes by all roles and bindings that were written: of each kind it hears one after the other, and of these last.
func settle(t *testing.T, namespace string) {
	t.Helper()
	get := func(resource string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get"}}}
	}
	if _, err := seed.CreateServiceAccount(t.Context(), landscape.ServiceAccountOptions{
		Namespace: namespace, Name: "last", ClusterRules: get("nodes"), Rules: map[string][]rbacv1.PolicyRule{namespace: get("pods")},
	}); err != nil {
		t.Fatal(err)
	}
}

// TestUpgrade installs the charts of earlier versions, and then the current ones.
func TestUpgrade(t *testing.T) {
	const namespace = "garden" // that of the files
	files, err := filepath.Glob("testdata/previous/*/*.yaml")
	if err != nil || len(files) < 8 {
		t.Fatalf("found %v (%v)", files, err)
	}
	for _, file := range files {
		values := regexp.MustCompile(`(-v[0-9].*)?\.yaml$`).ReplaceAllString(filepath.Base(file), "")
		o := one{chart: filepath.Base(filepath.Dir(file)), values: values}
		t.Run(file, func(t *testing.T) {
			before, after := sorted(parse(t, mustRead(t, file))), o.render(t, namespace)
			for _, object := range append(slices.Clone(before), after...) {
				if object.GetNamespace() == "" && !strings.HasPrefix(object.GetKind(), "Cluster") {
					t.Errorf("%s %s is in no namespace", object.GetKind(), object.GetName())
				}
			}
			apply(t, before)
			apply(t, after)
			// What was there is still there: an upgrade takes nothing away, such as a volume.
			for _, name := range names(before) {
				if !slices.Contains(names(after), name) && !renamed(names(after), name, namespace) {
					t.Errorf("the upgrade removes %s", name)
				}
			}
			remove(t, after)
		})
	}
}

// renamed says whether what an earlier version shared between all installations in a cluster is there for this one alone.
func renamed(after []string, name, namespace string) bool {
	kind, _, _ := strings.Cut(name, " ")
	switch kind {
	case "ClusterRole", "ClusterRoleBinding":
		return slices.Contains(after, name+"."+namespace)
	case "ConfigMap":
		shared, ok := strings.CutSuffix(name, "-dashboard")
		return ok && slices.Contains(after, shared+"."+namespace+".dashboard")
	}
	return false
}

func names(objects []*unstructured.Unstructured) []string {
	var out []string
	for _, object := range objects {
		out = append(out, object.GetKind()+" "+object.GetName())
	}
	return out
}

// TestImmutable checks that an upgrade that changes an immutable field would be found.
func TestImmutable(t *testing.T) {
	objects := one{"graft-resource-interpreter", "defaults"}.render(t, newNamespace(t, "privileged"))
	apply(t, objects)
	defer remove(t, objects)
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		changed := object.DeepCopy()
		labels := map[string]any{"app": "another"}
		if err := unstructured.SetNestedMap(changed.Object, labels, "spec", "selector", "matchLabels"); err != nil {
			t.Fatal(err)
		}
		if err := unstructured.SetNestedMap(changed.Object, labels, "spec", "template", "metadata", "labels"); err != nil {
			t.Fatal(err)
		}
		if err := patch(t, changed); err == nil || !strings.Contains(err.Error(), "immutable") {
			t.Errorf("the selector was changed: %v", err)
		}
	}
}
