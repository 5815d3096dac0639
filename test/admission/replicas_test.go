// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// testCertificates changes the CA while the program runs, and deletes all Secrets while it does not run.
func testCertificates(ctx context.Context) {
	profiles := map[string]string{"acme": setFlag("acme", "acme", "value", "x")}
	p := start(ctx, programOptions{Profiles: profiles})
	namespace := newShoot(ctx, "certificates", "acme")
	before := registration(ctx).Webhooks[0].ClientConfig.CABundle

	secrets := &corev1.SecretList{}
	Expect(land.Client().List(ctx, secrets, client.InNamespace(p.namespace), client.HasLabels{"bundle-for"})).To(Succeed())
	Expect(secrets.Items).To(HaveLen(1), "bundles")
	// As around a rotation: a second bundle is there, which holds the CA of another.
	rotated := secrets.Items[0].DeepCopy()
	rotated.ObjectMeta = metav1.ObjectMeta{Namespace: p.namespace, Name: rotated.Name + "-next", Labels: rotated.Labels}
	other := serveTLS(http.NotFoundHandler()).CABundle
	rotated.Data = map[string][]byte{"bundle.crt": append(bytes.Clone(before), other...)}
	rotated.Immutable = nil
	Expect(land.Client().Create(ctx, rotated)).To(Succeed())
	Eventually(func() error {
		bundle := registration(ctx).Webhooks[0].ClientConfig.CABundle
		if !bytes.Contains(bundle, bytes.TrimSpace(before)) || !bytes.Contains(bundle, bytes.TrimSpace(other)) {
			return errNotYet
		}
		return nil
	}).Should(Succeed(), "the registration to trust the new CA too")
	p.waitReady()
	syncWebhooks(ctx)
	expectFlags(create(ctx, deployment(namespace, "kube-controller-manager")), map[string]bool{"--value=x": true})

	p.stop()
	Expect(land.Client().DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(p.namespace))).To(Succeed())
	// The previous registration still exists, with CAs that were deleted.
	next := start(ctx, programOptions{Profiles: profiles, Beside: p})
	after := registration(ctx).Webhooks[0].ClientConfig.CABundle
	Expect(after).NotTo(Or(BeEmpty(), Equal(before)), "the registered CA bundle")
	Expect(*registration(ctx).Webhooks[0].ClientConfig.URL).
		To(Equal("https://"+next.Webhook+segmented(ctx, "/webhooks/controlplane/acme")), "the registered URL")
	object := stored(ctx, deployment(namespace, "kube-controller-manager"))
	next.expectCount(1, "graft_admissions_total", labels{"result": "unchanged"}, func() {
		Expect(land.Client().Update(ctx, object)).To(Succeed())
	})
}

// testReplicas runs two replicas: both are ready, one leads, and when it ends the other one keeps its registration.
func testReplicas(ctx context.Context) {
	profiles := map[string]string{"acme": setFlag("acme", "acme", "value", "x")}
	first := start(ctx, programOptions{Profiles: profiles})
	second := launch(ctx, programOptions{Profiles: profiles, Beside: first})
	second.waitReady()
	lease := &coordinationv1.Lease{}
	Expect(land.Client().Get(ctx, client.ObjectKey{Namespace: first.namespace, Name: leaseName}, lease)).To(Succeed())
	Expect(*registration(ctx).Webhooks[0].ClientConfig.URL).To(ContainSubstring(first.Webhook), "the registered URL")
	// Both serve: a replica need not lead for that.
	namespace := newNamespace(ctx, "replicas", nil)
	register(ctx, "second", namespace, second.clientConfig(ctx, "/webhooks/controlplane/acme"), nil)
	expectFlags(create(ctx, deployment(namespace, "kube-controller-manager")), map[string]bool{"--value=x": true})

	Expect(first.stop()).To(BeNumerically("==", 0), "exit status of the first replica")
	Eventually(func() error {
		if got := *registration(ctx).Webhooks[0].ClientConfig.URL; !strings.Contains(got, second.Webhook) {
			return fmt.Errorf("the registration leads to %s", got)
		}
		return nil
	}).Should(Succeed(), "the second replica to lead")
}

// testNobodyAnswers kills the program. Its failure policy decides for targets, and not for other objects.
func testNobodyAnswers(ctx context.Context, policy string) {
	p := start(ctx, programOptions{
		Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")},
		Config:   "webhook: {failurePolicy: " + policy + "}\n",
	})
	namespace := newShoot(ctx, "nobody-"+strings.ToLower(policy), "acme")
	p.Kill()
	object := deployment(namespace, "kube-controller-manager")
	err := land.Client().Create(ctx, object)
	if policy == "Fail" {
		expectDenied(err, 500, "failed calling webhook", "controlplane.acme.graft.extensions.gardener.cloud")
	} else {
		Expect(err).NotTo(HaveOccurred(), "creating an object without the program")
	}
	create(ctx, deployment(namespace, "gardener-resource-manager"))
}
