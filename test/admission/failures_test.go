// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// maxReviewBytes is the limit of the program for failing admissions.
const maxReviewBytes = 65536

// failing has the profiles for failing admissions: each provider is one way to fail, and "fine" is none.
var failing = map[string]string{
	"fine":   setFlag("fine", "fine", "fine", `"yes"`),
	"region": setFlag("region", "region", "region", `"${ shoot.region }"`),
	"key":    setFlag("key", "key", "absent", `'${ shoot.annotations["no-such-key"] }'`),
	"number": lookup("number", "cloudprovider") +
		"  kube-controller-manager:\n  - flags: {set: {x: \"${ string(int(lookups.s.password)) }\"}}\n",
	"secret": lookup("secret", "cloudprovider") +
		"  kube-controller-manager:\n  - env: {set: {PASSWORD: \"${ lookups.s.password }\"}}\n",
	"denied": lookup("denied", `"${ object.name == \"\" ? \"\" : \"not-granted\" }"`) +
		"  kube-controller-manager:\n  - env: {set: {PASSWORD: \"${ lookups.s.password }\"}}\n",
	"gates": head("gates", "gates") + "controlplane:\n  kube-controller-manager:\n  - featureGates: {A: true}\n",
	"node":  head("node", "node") + "controlplane:\n  kubelet:\n  - flags: {set: {cloud-provider: external}}\n",
	"sidecar": head("sidecar", "sidecar") +
		"controlplane:\n  kube-controller-manager:\n  - env: {container: sidecar, set: {A: b}}\n",
	"invalid": strings.Replace(setFlag("invalid", "invalid", "value", `"1"`), "flags:", "flagz:", 1),
	"unwanted": head("unwanted", "unwanted") +
		"deny:\n- name: no such region\n  when: ${ shoot.region == \"region-1\" }\n" +
		"  message: Shoots of the region ${ shoot.region } are made elsewhere\n" +
		"controlplane:\n  kube-controller-manager:\n  - flags: {set: {x: y}}\n",
	"sni": head("sni", "sni") + "controlplane:\n  kube-apiserver:\n  - flags: {set: {advertise-address: 192.0.2.7}}\n",
}

// lookup begins a profile with a lookup.
func lookup(name, secret string) string {
	return head(name, name) + "lookups: {s: {secret: " + secret + ", keys: [password]}}\ncontrolplane:\n"
}

// failure is an item of docs/failures.md.
type failure struct {
	reason   mutation.Reason
	provider string
	code     int32
	message  []string
	// object defaults to a small kube-controller-manager.
	object func(namespace string) *unstructured.Unstructured
	// prepare makes the failure happen in the namespace of the shoot.
	prepare func(ctx context.Context, p *program, namespace string)
	// counted is the provider as it is counted; provider by default.
	counted string
	options []func(*landscape.ShootOptions)
}

var _ = Describe("a failing admission", Ordered, func() {
	var (
		p    *program
		fine string
	)

	BeforeAll(func(ctx SpecContext) {
		p = start(ctx, programOptions{
			Profiles:  failing,
			Config:    "webhook: {maxReviewBytes: 65536}\n",
			Arguments: []string{"--gardener-version=v1.20.0"},
			Values:    map[string]any{"lookups": map[string]any{"secrets": []any{"cloudprovider"}}},
		})
		fine = newShoot(ctx, "failures-fine", "fine")
	})

	// The cases have the names of the items of docs/failures.md.
	all := failures()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		It("is denied, counted and logged: "+name, func(ctx SpecContext) {
			test := all[name]
			namespace := newShoot(ctx, "failures-"+strings.ToLower(strings.ReplaceAll(name, " ", "-")), test.provider,
				test.options...)
			if test.prepare != nil {
				test.prepare(ctx, p, namespace)
			}
			object := deployment(namespace, "kube-controller-manager", "--v=2")
			if test.object != nil {
				object = test.object(namespace)
			}
			counted := test.provider
			if test.counted != "" {
				counted = test.counted
			}
			p.expectCount(1, "graft_admission_failures_total",
				labels{"set": "controlplane", "provider": counted, "reason": string(test.reason)}, func() {
					p.expectCount(1, "graft_admission_failures_total", nil, func() {
						expectDenied(land.Client().Create(ctx, object.DeepCopy()), test.code, test.message...)
					})
				})
			expectAbsent(ctx, object)
			p.log.waitFor(`"reason":"` + string(test.reason) + `"`)
			By("serving other objects afterwards")
			probe := deployment(fine, "kube-controller-manager")
			Expect(land.Client().Create(ctx, probe, client.DryRunAll)).To(Succeed(), "creating an object after the failure")
			expectFlags(probe, map[string]bool{"--fine=yes": true})
		})
	}

	It("leaves a stored object as it is when an update is denied", func(ctx SpecContext) { testFailingUpdate(ctx, p) })
	It("does not exist for a deletion", func(ctx SpecContext) { testDeletion(ctx, p) })

	It("never has the value of a Secret in the log", func() {
		Expect(p.log.String()).NotTo(ContainSubstring(secretValue), "the log of the program")
	})
})

// testFailingUpdate checks that a denied update leaves the stored object unchanged.
func testFailingUpdate(ctx context.Context, p *program) {
	before := create(ctx, deployment(newShoot(ctx, "failures-update", "gates"), "kube-controller-manager", "--v=2"))
	after := before.DeepCopy()
	fresh := deployment(before.GetNamespace(), "kube-controller-manager", "--feature-gates=A,B=true")
	after.Object["spec"] = fresh.Object["spec"]
	p.expectCount(1, "graft_admission_failures_total", labels{"reason": "NestedUnreadable"}, func() {
		expectDenied(land.Client().Update(ctx, after), 422, "NestedUnreadable: ")
	})
	Expect(stored(ctx, before).GetResourceVersion()).
		To(Equal(before.GetResourceVersion()), "resource version of the stored object")
}

// testDeletion sends Graft reviews of an operation that its own registration does not name: they have no object.
func testDeletion(ctx context.Context, p *program) {
	namespace := newNamespace(ctx, "failures-deletion", nil)
	object := create(ctx, deployment(namespace, "kube-controller-manager"))
	register(ctx, "deletions", namespace, p.clientConfig(ctx, "/webhooks/controlplane/fine"),
		func(w *admissionregistrationv1.MutatingWebhook) {
			w.Rules[0].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Delete}
		})
	p.expectCount(1, "graft_admissions_total", labels{"provider": "fine", "result": "ignored"}, func() {
		Expect(land.Client().Delete(ctx, object)).To(Succeed())
	})
	expectAbsent(ctx, object)
}

func failures() map[string]failure {
	return map[string]failure{
		"ContainerMissing": {
			reason: mutation.ContainerMissing, provider: "fine", code: 422,
			message: []string{"Deployment kube-controller-manager", `no container named "kube-controller-manager"`},
			object: func(namespace string) *unstructured.Unstructured {
				object := deployment(namespace, "other")
				object.SetName("kube-controller-manager")
				return object
			},
		},
		"ContainerMissing of a rule": {
			reason: mutation.ContainerMissing, provider: "sidecar", code: 422,
			message: []string{"rule sidecar/kube-controller-manager[0].env (", "sidecar.yaml:7:5)",
				`no container named "sidecar"`},
		},
		"NodePartMissing": {
			reason: mutation.NodePartMissing, provider: "node", code: 422,
			message: []string{"rule node/kubelet[0].flags (", "node.yaml:7:5)", "kubelet.service"},
			object:  func(namespace string) *unstructured.Unstructured { return operatingSystemConfig(namespace, "") },
		},
		"NestedUnreadable unit": {
			reason: mutation.NestedUnreadable, provider: "node", code: 422,
			message: []string{"rule node/kubelet[0].flags (", "kubelet.service", "several"},
			object: func(namespace string) *unstructured.Unstructured {
				return operatingSystemConfig(namespace, "[Service]\nExecStart=/kubelet\nExecStart=/kubelet\n")
			},
		},
		"ExpressionFailed": {
			reason: mutation.ExpressionFailed, provider: "key", code: 500,
			message: []string{"rule key/kube-controller-manager[0].flags (", "key.yaml:7:5)", "key.yaml:7:48"},
		},
		"ExpressionFailed with a secret": {
			reason: mutation.ExpressionFailed, provider: "number", code: 500,
			message: []string{"rule number/", "number.yaml:8:"},
			prepare: writeSecret,
		},
		"ClusterMissing": {
			reason: mutation.ClusterMissing, provider: "region", code: 503,
			message: []string{"shoot--sample--failures-clustermissing", "not found"},
			options: []func(*landscape.ShootOptions){func(o *landscape.ShootOptions) { o.WithoutCluster = true }},
		},
		"ClusterUndecodable": {
			reason: mutation.ClusterUndecodable, provider: "region", code: 500,
			message: []string{"spec.kubernetes.version", "cannot be decoded"},
			options: []func(*landscape.ShootOptions){func(o *landscape.ShootOptions) { o.WithoutCluster = true }},
			prepare: writeUndecodableCluster,
		},
		"FactsUnavailable": {
			reason: mutation.FactsUnavailable, provider: "region", code: 503,
			message: []string{"clusters.extensions.gardener.cloud", "forbidden"},
			options: []func(*landscape.ShootOptions){func(o *landscape.ShootOptions) { o.WithoutCluster = true }},
			prepare: revokeClusters,
		},
		"LookupMissing": {reason: mutation.LookupMissing, provider: "secret", code: 422,
			message: []string{"profile secret", "lookup s", "not found"}},
		"LookupMissing of a key": {reason: mutation.LookupMissing, provider: "secret", code: 422,
			message: []string{"lookup s", "no key password"}, prepare: writeOtherKey},
		"LookupFailed": {reason: mutation.LookupFailed, provider: "denied", code: 503,
			message: []string{"profile denied", "lookup s", "forbidden"}, prepare: writeSecret},
		"NestedUnreadable": {
			reason: mutation.NestedUnreadable, provider: "gates", code: 422,
			message: []string{"rule gates/", "gates.yaml:7:5)", "--feature-gates"},
			object: func(namespace string) *unstructured.Unstructured {
				return deployment(namespace, "kube-controller-manager", "--feature-gates=A,B=true")
			},
		},
		"NestedUnreadable shell": {
			reason: mutation.NestedUnreadable, provider: "fine", code: 422, message: []string{"rule fine/", "fine.yaml:7:5)"},
			object: func(namespace string) *unstructured.Unstructured {
				object := deployment(namespace, "kube-controller-manager")
				containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
				containers[0].(map[string]any)["command"] = []any{"/bin/sh", "-c", "exec kube-controller-manager --v=2"}
				_ = unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")
				return object
			},
		},
		"DeniedByRule": {
			reason: mutation.DeniedByRule, provider: "unwanted", code: 403,
			message: []string{"rule unwanted/no such region (", "unwanted.yaml:",
				"Shoots of the region region-1 are made elsewhere"},
		},
		"ContractBroken": {
			reason: mutation.ContractBroken, provider: "sni", code: 403,
			message: []string{"Deployment kube-apiserver", "--advertise-address", "contract kube-apiserver/sni"},
			object: func(namespace string) *unstructured.Unstructured {
				object := deployment(namespace, "kube-apiserver", "--advertise-address=10.0.0.1")
				object.SetLabels(map[string]string{"core.gardener.cloud/apiserver-exposure": "gardener-managed"})
				return object
			},
		},
		"ProfileInvalid": {
			reason: mutation.ProfileInvalid, provider: "invalid", code: 503,
			message: []string{"invalid.yaml:7:5: ", `did you mean "flags"?`},
		},
		"NotLoaded": {
			reason: mutation.NotLoaded, provider: "none", code: 503, message: []string{"controlplane", `"none"`},
			counted: "unknown",
			prepare: func(ctx context.Context, p *program, namespace string) {
				register(ctx, "not-loaded", namespace, p.clientConfig(ctx, "/webhooks/controlplane/none"), nil)
			},
		},
		"ReviewVersion": {
			reason: webhook.ReviewVersion, provider: "none", code: 500,
			message: []string{"failed calling webhook", "older.example.com"}, counted: "fine",
			prepare: func(ctx context.Context, p *program, namespace string) {
				register(ctx, "older", namespace, p.clientConfig(ctx, "/webhooks/controlplane/fine"),
					func(w *admissionregistrationv1.MutatingWebhook) {
						w.AdmissionReviewVersions = []string{"v1beta1"}
					})
			},
		},
		"ReviewTooLarge": {
			reason: webhook.ReviewTooLarge, provider: "fine", code: 500, message: []string{"failed calling webhook"},
			object: func(namespace string) *unstructured.Unstructured {
				object := deployment(namespace, "kube-controller-manager")
				object.SetAnnotations(map[string]string{"large": strings.Repeat("x", maxReviewBytes)})
				return object
			},
		},
		// A kube-apiserver sends none of the following; a proxy changes its requests.
		"ReviewUnreadable": tampered(webhook.ReviewUnreadable, 500, "failed calling webhook",
			func(r *http.Request, body []byte) []byte {
				return bytes.Replace(body, []byte(`"object":{`), []byte(`"nothing":{`), 1)
			}),
		"ReviewUnreadable JSON": tampered(webhook.ReviewUnreadable, 500, "failed calling webhook",
			func(r *http.Request, body []byte) []byte {
				return body[:len(body)/2]
			}),
		"ObjectUnreadable": tampered(mutation.ObjectUnreadable, 422, "ObjectUnreadable: ",
			func(r *http.Request, body []byte) []byte {
				return bytes.Replace(body, []byte(`"containers":[`), []byte(`"containers":[],"containers":[`), 1)
			}),
		"ReviewMethod": tampered(webhook.ReviewMethod, 500, "failed calling webhook",
			func(r *http.Request, body []byte) []byte {
				r.Method = http.MethodPut
				return body
			}),
		"ReviewMediaType": tampered(webhook.ReviewMediaType, 500, "failed calling webhook",
			func(r *http.Request, body []byte) []byte {
				r.Header.Set("Content-Type", "text/plain")
				return body
			}),
	}
}

// tampered is a failure of a review that is changed on its way to the program.
func tampered(reason mutation.Reason, code int32, message string, change func(*http.Request, []byte) []byte) failure {
	return failure{
		reason: reason, provider: "none", code: code, message: []string{message}, counted: "fine",
		prepare: func(ctx context.Context, p *program, namespace string) {
			register(ctx, "tampered", namespace, p.proxy(ctx, "/webhooks/controlplane/fine", change), nil)
		},
	}
}

func writeSecret(ctx context.Context, _ *program, namespace string) {
	GinkgoHelper()
	for _, name := range []string{"cloudprovider", "not-granted"} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			StringData: map[string]string{"password": secretValue}}
		Expect(land.Client().Create(ctx, secret)).To(Succeed())
	}
}

func writeOtherKey(ctx context.Context, _ *program, namespace string) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloudprovider"},
		StringData: map[string]string{"other": secretValue}}
	Expect(land.Client().Create(ctx, secret)).To(Succeed())
}

// writeUndecodableCluster writes a Cluster with a Shoot with an invalid version.
func writeUndecodableCluster(ctx context.Context, _ *program, namespace string) {
	GinkgoHelper()
	cluster, err := sample.Cluster(sample.Options{Namespace: namespace, Kubernetes: "1.33.6"})
	Expect(err).NotTo(HaveOccurred())
	cluster.Spec.Shoot.Raw = bytes.Replace(cluster.Spec.Shoot.Raw, []byte(`"version":"1.33.6"`), []byte(`"version":7`), 1)
	Expect(land.Client().Create(ctx, cluster)).To(Succeed())
}

// revokeClusters removes the permission to read Clusters until the end of the test. Earlier reads stay in the cache;
// the test needs a Cluster that is not in it.
func revokeClusters(_ context.Context, p *program, namespace string) {
	GinkgoHelper()
	p.changeClusterRules(namespace, true, "clusters")
	DeferCleanup(func() { p.changeClusterRules(namespace, false) })
}

// operatingSystemConfig is one of purpose reconcile; without the unit of the kubelet where that is empty.
func operatingSystemConfig(namespace, unit string) *unstructured.Unstructured {
	spec := map[string]any{"type": "gardenlinux", "purpose": "reconcile"}
	if unit != "" {
		spec["units"] = []any{map[string]any{"name": "kubelet.service", "content": unit}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "OperatingSystemConfig",
		"metadata": map[string]any{"namespace": namespace, "name": "any-name"}, "spec": spec,
	}}
}
