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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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

var _ = Describe("kube-apiserver with the objects of the charts", func() {
	for _, o := range all() {
		It("accepts every object of "+o.String(), func(ctx SpecContext) {
			objects := o.render(newNamespace(ctx, "privileged"))
			remove(objects)
			apply(ctx, objects)
		})
	}

	It("has the kinds of other projects among them", func() {
		kinds := map[string]bool{}
		for _, o := range all() {
			for _, object := range o.render("default") {
				kinds[object.GetKind()] = true
			}
		}
		for _, kind := range []string{
			"Certificate", "PrometheusRule", "VerticalPodAutoscaler", "HorizontalPodAutoscaler", "NetworkPolicy", "DaemonSet",
			"PersistentVolumeClaim",
		} {
			Expect(kinds).To(HaveKey(kind), "kinds in the charts")
		}
	})

	It("accepts the Extension for gardener-operator", func(ctx SpecContext) {
		apply(ctx, parse(mustRead(root+"/example/extension.yaml")))
	})

	DescribeTable("refuses an unknown field", func(ctx SpecContext, manifest string) {
		object := parse(manifest)[0]
		object.SetNamespace(newNamespace(ctx, "privileged"))
		err := seed.Client().Create(ctx, object, client.FieldValidation("Strict"))
		Expect(err).To(MatchError(ContainSubstring("unknown field")), "creating the object")
	},
		Entry("of a ConfigMap", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndta: {}\n"),
		Entry("of a Certificate", "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a}\n"+
			"spec: {secretName: a, issuerRef: {name: a}, dnsName: [a]}\n"),
		Entry("of a VerticalPodAutoscaler", "apiVersion: autoscaling.k8s.io/v1\nkind: VerticalPodAutoscaler\n"+
			"metadata: {name: a}\nspec: {targetRef: {kind: Deployment, name: a}, updates: {}}\n"),
	)

	It("refuses another selector of a Deployment in an upgrade", func(ctx SpecContext) {
		objects := one{"graft-resource-interpreter", "defaults"}.render(newNamespace(ctx, "privileged"))
		remove(objects)
		apply(ctx, objects)
		deployment := objects[slices.IndexFunc(objects, isWorkload)]
		labels := map[string]any{"app": "another"}
		for _, path := range [][]string{{"selector", "matchLabels"}, {"template", "metadata", "labels"}} {
			path = append([]string{"spec"}, path...)
			Expect(unstructured.SetNestedMap(deployment.Object, labels, path...)).To(Succeed())
		}
		Expect(patch(ctx, deployment.DeepCopy())).To(MatchError(ContainSubstring("immutable")), "changing the selector")
	})
})

// isWorkload reports whether an object has a template of Pods.
func isWorkload(object *unstructured.Unstructured) bool {
	return object.GetKind() == "Deployment" || object.GetKind() == "DaemonSet"
}

// template returns the template of a workload as a Pod.
func template(object *unstructured.Unstructured) *corev1.Pod {
	GinkgoHelper()
	var workload appsv1.Deployment // a DaemonSet has its template at the same place
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &workload)).To(Succeed())
	pod := &corev1.Pod{ObjectMeta: workload.Spec.Template.ObjectMeta, Spec: workload.Spec.Template.Spec}
	pod.Name, pod.Namespace = "it", object.GetNamespace()
	return pod
}

var _ = Describe("Pods comply with the Pod security standard restricted, or exceed it where they must", func() {
	const hostPath = `restricted volume types`
	needs := map[string][]string{
		"graft-network-provider/defaults":         {hostPath, "runAsNonRoot != true", "runAsUser=0"},
		"graft-network-provider/nodes-on-etcd":    {hostPath, "runAsNonRoot != true", "runAsUser=0"},
		"graft-network-provider/prepared-folders": {hostPath},
		"graft-network-provider/node": {
			"host namespaces", "hostPort", `must not include "NET_ADMIN"`, hostPath, "runAsNonRoot != true",
		},
	}

	for _, o := range all() {
		It("in "+o.String(), func(ctx SpecContext) {
			for _, object := range o.render(newNamespace(ctx, "restricted")) {
				if !isWorkload(object) {
					continue
				}
				err := seed.Client().Create(ctx, template(object), client.DryRunAll)
				if len(needs[o.String()]) == 0 {
					Expect(err).NotTo(HaveOccurred(), "creating a Pod of %s", object.GetName())
					continue
				}
				Expect(apierrors.IsForbidden(err)).To(BeTrue(), "the Pod is forbidden: %v", err)
				for _, need := range needs[o.String()] {
					Expect(err).To(MatchError(ContainSubstring(need)), "what the Pod needs beyond the standard")
				}
			}
		})
	}

	It("finds workloads in the charts", func() {
		var workloads []string
		for _, o := range all() {
			for _, object := range o.render("default") {
				if isWorkload(object) {
					workloads = append(workloads, o.String())
				}
			}
		}
		Expect(len(workloads)).To(BeNumerically(">=", 10), "workloads: %v", workloads)
	})
})

// permissions is a set of requests.
type permissions []authorizationv1.ResourceAttributes

var _ = Describe("the accounts of the charts", func() {
	DescribeTable("may do what they need, and nothing more", func(ctx SpecContext, o one, may, mayNot permissions) {
		namespace := newNamespace(ctx, "privileged")
		objects := o.render(namespace)
		remove(objects)
		apply(ctx, objects)
		settle(ctx, namespace)
		for allowed, questions := range map[bool]permissions{true: may, false: mayNot} {
			for _, question := range questions {
				question.Namespace = namespace
				review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
					User: fmt.Sprintf("system:serviceaccount:%s:%s", namespace, o.chart), ResourceAttributes: &question,
				}}
				Expect(seed.Client().Create(ctx, review)).To(Succeed())
				Expect(review.Status.Allowed).To(Equal(allowed), "whether the account may do %+v", question)
			}
		}
	},
		Entry("for the network provider", one{"graft-network-provider", "defaults"},
			permissions{
				{Verb: "list", Resource: "pods"}, {Verb: "list", Group: "resource.k8s.io", Resource: "resourceclaims"},
			},
			permissions{
				{Verb: "create", Group: "events.k8s.io", Resource: "events"},
				{Verb: "get", Resource: "secrets"}, {Verb: "delete", Resource: "pods"},
				{Verb: "update", Group: "resource.k8s.io", Resource: "resourceclaims"},
				{Verb: "list", Resource: "configmaps"}, {Verb: "get", Resource: "nodes"}, {Verb: "watch", Resource: "pods"},
			}),
		Entry("for a network provider that does not look for leaks", one{"graft-network-provider", "nodes-on-etcd"},
			nil,
			permissions{{Verb: "list", Resource: "pods"}, {Verb: "create", Resource: "events"}}),
		Entry("for the resource interpreter", one{"graft-resource-interpreter", "defaults"},
			permissions{
				{Verb: "create", Resource: "secrets"},
				{Verb: "update", Resource: "secrets", Name: "graft-resource-interpreter-tls"},
				{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Name: "graft-resource-interpreter"},
				{
					Verb: "update", Group: "config.karmada.io", Resource: "resourceinterpreterwebhookconfigurations",
					Name: "graft-resource-interpreter",
				},
			},
			permissions{
				{Verb: "get", Resource: "secrets", Name: "another"}, {Verb: "list", Resource: "secrets"},
				{Verb: "get", Resource: "configmaps"},
				{
					Verb: "update", Group: "config.karmada.io", Resource: "resourceinterpreterwebhookconfigurations",
					Name: "another",
				},
			}),
		Entry("for a resource interpreter with a given certificate", one{"graft-resource-interpreter", "given-secret"},
			nil,
			permissions{
				{Verb: "get", Resource: "secrets", Name: "public"},
				{Verb: "create", Group: "coordination.k8s.io", Resource: "leases"},
			}),
	)
})

// settle waits until kube-apiserver enforces all roles and bindings. It learns the objects of each kind in order, and
// waits for the last ones.
func settle(ctx SpecContext, namespace string) {
	GinkgoHelper()
	get := func(resource string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get"}}}
	}
	_, err := seed.CreateServiceAccount(ctx, landscape.ServiceAccountOptions{
		Namespace: namespace, Name: "last", ClusterRules: get("nodes"),
		Rules: map[string][]rbacv1.PolicyRule{namespace: get("pods")},
	})
	Expect(err).NotTo(HaveOccurred(), "creating another account")
}

var _ = Describe("an upgrade of a chart keeps every installed object", func() {
	const namespace = "garden" // that of the files
	files, err := filepath.Glob("testdata/previous/*/*.yaml")
	if err != nil {
		panic(err)
	}

	for _, file := range files {
		It("from "+strings.TrimPrefix(file, "testdata/previous/"), func(ctx SpecContext) {
			values := regexp.MustCompile(`(-v[0-9].*)?\.yaml$`).ReplaceAllString(filepath.Base(file), "")
			o := one{chart: filepath.Base(filepath.Dir(file)), values: values}
			before, after := sorted(parse(mustRead(file))), o.render(namespace)
			for _, object := range append(slices.Clone(before), after...) {
				if !strings.HasPrefix(object.GetKind(), "Cluster") {
					Expect(object.GetNamespace()).NotTo(BeEmpty(), "namespace of %s %s", object.GetKind(), object.GetName())
				}
			}
			remove(after)
			apply(ctx, before)
			apply(ctx, after)
			for _, name := range names(before) {
				kept := slices.Contains(names(after), name) || renamed(names(after), name, namespace)
				Expect(kept).To(BeTrue(), "the upgrade keeps %s", name)
			}
		})
	}

	It("finds earlier versions of the charts", func() {
		Expect(len(files)).To(BeNumerically(">=", 8), "manifests of earlier versions: %v", files)
	})
})

// renamed reports whether an object that installations of an earlier version shared has become one per installation.
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
