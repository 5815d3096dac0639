// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// testCertificates lets the CA change while the program runs, and then all Secrets go while it does not.
func testCertificates(t *testing.T) {
	profiles := map[string]string{"acme": setFlag("acme", "acme", "value", "x")}
	p := start(t, programOptions{Profiles: profiles})
	namespace := newShoot(t, "certificates", "acme")
	before := registration(t).Webhooks[0].ClientConfig.CABundle

	secrets := &corev1.SecretList{}
	if err := land.Client().List(t.Context(), secrets, client.InNamespace(p.namespace), client.HasLabels{"bundle-for"}); err != nil {
		t.Fatal(err)
	}
	if len(secrets.Items) != 1 {
		t.Fatalf("there are %d bundles, want one", len(secrets.Items))
	}
	// As around a rotation: a second bundle is there, which holds the CA of another.
	rotated := secrets.Items[0].DeepCopy()
	rotated.ObjectMeta = metav1.ObjectMeta{Namespace: p.namespace, Name: rotated.Name + "-next", Labels: rotated.Labels}
	other := serveTLS(t, http.NotFoundHandler()).CABundle
	rotated.Data = map[string][]byte{"bundle.crt": append(bytes.Clone(before), other...)}
	rotated.Immutable = nil
	if err := land.Client().Create(t.Context(), rotated); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the registration to trust the new CA too", func() error {
		bundle := registration(t).Webhooks[0].ClientConfig.CABundle
		if !bytes.Contains(bundle, bytes.TrimSpace(before)) || !bytes.Contains(bundle, bytes.TrimSpace(other)) {
			return errNotYet
		}
		return nil
	})
	p.waitReady()
	syncWebhooks(t)
	expectFlags(t, create(t, deployment(namespace, "kube-controller-manager")), map[string]bool{"--value=x": true})

	p.stop()
	if err := land.Client().DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(p.namespace)); err != nil {
		t.Fatal(err)
	}
	// The previous registration still exists, with CAs that are gone.
	next := start(t, programOptions{Profiles: profiles, Beside: p})
	if after := registration(t).Webhooks[0].ClientConfig.CABundle; bytes.Equal(after, before) || len(after) == 0 {
		t.Error("the registration did not follow the new CA")
	}
	if got := registration(t).Webhooks[0].ClientConfig.URL; *got != "https://"+next.Webhook+segmented(t, "/webhooks/controlplane/acme") {
		t.Errorf("the registration leads to %s", *got)
	}
	object := stored(t, deployment(namespace, "kube-controller-manager"))
	next.expectCount(t, 1, "graft_admissions_total", labels{"result": "unchanged"}, func() {
		if err := land.Client().Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	})
}

// testReplicas runs two replicas: both are ready, one leads, and when it ends the other one keeps its registration.
func testReplicas(t *testing.T) {
	profiles := map[string]string{"acme": setFlag("acme", "acme", "value", "x")}
	first := start(t, programOptions{Profiles: profiles})
	second := launch(t, programOptions{Profiles: profiles, Beside: first})
	second.waitReady()
	lease := &coordinationv1.Lease{}
	if err := land.Client().Get(t.Context(), client.ObjectKey{Namespace: first.namespace, Name: leaseName}, lease); err != nil {
		t.Fatal(err)
	}
	if got := *registration(t).Webhooks[0].ClientConfig.URL; !strings.Contains(got, first.Webhook) {
		t.Errorf("the second replica wrote the registration: %s", got)
	}
	// Both serve: a replica need not lead for that.
	namespace := newNamespace(t, "replicas", nil)
	register(t, "second", namespace, second.clientConfig(t, "/webhooks/controlplane/acme"), nil)
	expectFlags(t, create(t, deployment(namespace, "kube-controller-manager")), map[string]bool{"--value=x": true})

	if status := first.stop(); status != 0 {
		t.Errorf("the first replica ended with %d", status)
	}
	eventually(t, "the second replica to lead", func() error {
		if got := *registration(t).Webhooks[0].ClientConfig.URL; !strings.Contains(got, second.Webhook) {
			return fmt.Errorf("the registration leads to %s", got)
		}
		return nil
	})
}

// testNobodyAnswers kills the program. The failure policy decides, and objects of other providers are not affected.
func testNobodyAnswers(t *testing.T) {
	for policy, denied := range map[string]bool{"Fail": true, "Ignore": false} {
		t.Run(policy, func(t *testing.T) {
			p := start(t, programOptions{
				Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")}, Config: "webhook: {failurePolicy: " + policy + "}\n",
			})
			namespace := newShoot(t, "nobody-"+strings.ToLower(policy), "acme")
			p.Kill()
			object := deployment(namespace, "kube-controller-manager")
			err := land.Client().Create(t.Context(), object)
			if denied {
				expectDenied(t, err, 500, "failed calling webhook", "controlplane.acme.graft.extensions.gardener.cloud")
			} else if err != nil {
				t.Error(err)
			}
			create(t, deployment(namespace, "gardener-resource-manager"))
		})
	}
}
