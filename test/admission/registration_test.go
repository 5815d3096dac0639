// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const leaseName = programName + "-leader-election"

// testReadiness starts a replica while another one holds the lease: it is live, and ready only when it is registered
// with the CA of its certificate.
func testReadiness(t *testing.T) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: leaseName}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("somebody else"), LeaseDurationSeconds: ptr.To(int32(3600)),
		AcquireTime: ptr.To(metav1.NowMicro()), RenewTime: ptr.To(metav1.NowMicro()),
	}}
	p := launch(t, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")}, Before: func(namespace string) {
		lease.Namespace = namespace
		if err := land.Client().Create(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
	}})
	eventually(t, "the program to live", func() error {
		status, body, err := get("http://" + p.Health + "/healthz")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("HTTP %d, %v: %s", status, err, body)
		}
		return nil
	})
	p.log.waitFor(t, "attempting to acquire leader lease "+p.namespace+"/"+leaseName)
	eventually(t, "all but the registration", func() error {
		status, body, _ := get("http://" + p.Health + "/readyz?verbose")
		if status == http.StatusOK {
			t.Fatalf("the program is ready before it is registered: %s", body)
		}
		if !strings.Contains(body, "[+]caches ok") || !strings.Contains(body, "[+]profiles ok") || !strings.Contains(body, "[-]registration failed") {
			return fmt.Errorf("the checks are %s", body)
		}
		return nil
	})
	if err := land.Client().Delete(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	p.waitReady()
	if status, body, err := get("http://" + p.Health + "/healthz"); err != nil || status != http.StatusOK {
		t.Errorf("/healthz: HTTP %d, %v: %s", status, err, body)
	}
}

// testRegistration checks the registration, and that foreign changes of it are undone.
func testRegistration(t *testing.T) {
	p := start(t, programOptions{
		Profiles:  map[string]string{"acme": setFlag("acme", "acme", "value", "x")},
		Arguments: []string{"--heartbeat-renew-interval-seconds=1"},
	})
	found := registration(t)
	got := found.Webhooks[0].DeepCopy()
	if len(got.ClientConfig.CABundle) == 0 {
		t.Error("there is no CA bundle")
	}
	got.ClientConfig.CABundle = nil
	want := &admissionregistrationv1.MutatingWebhook{
		Name:         "controlplane.acme.graft.extensions.gardener.cloud",
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://" + p.Webhook + segmented(t, "/webhooks/controlplane/acme"))},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}, Scope: ptr.To(admissionregistrationv1.NamespacedScope),
			},
		}},
		FailurePolicy: ptr.To(admissionregistrationv1.Fail),
		MatchPolicy:   ptr.To(admissionregistrationv1.Equivalent),
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "shoot.gardener.cloud/provider", Operator: metav1.LabelSelectorOpIn, Values: []string{"acme"}},
		}},
		ObjectSelector:          &metav1.LabelSelector{},
		SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds:          ptr.To(int32(10)),
		AdmissionReviewVersions: []string{"v1"},
		ReinvocationPolicy:      ptr.To(admissionregistrationv1.IfNeededReinvocationPolicy),
		MatchConditions:         got.MatchConditions, // TestNamespaces checks their effect
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the webhook (-want +got):\n%s", diff)
	}
	if len(found.OwnerReferences) != 1 || found.OwnerReferences[0].Kind != "Namespace" || found.OwnerReferences[0].Name != p.namespace {
		t.Errorf("the owners are %v", found.OwnerReferences)
	}

	changed := found.DeepCopy()
	changed.Webhooks[0].FailurePolicy = ptr.To(admissionregistrationv1.Ignore)
	changed.Webhooks[0].NamespaceSelector = nil
	if err := land.Client().Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the change to be undone", func() error { return sameWebhooks(t, found) })
	if err := land.Client().Delete(t.Context(), found.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the registration to be made again", func() error { return sameWebhooks(t, found) })

	eventually(t, "the heartbeat", func() error {
		lease := &coordinationv1.Lease{}
		if err := land.Client().Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "gardener-extension-heartbeat"}, lease); err != nil {
			return err
		}
		if lease.Spec.RenewTime == nil || time.Since(lease.Spec.RenewTime.Time) > patience {
			return fmt.Errorf("it was renewed at %v", lease.Spec.RenewTime)
		}
		return nil
	})
}

// sameWebhooks says whether the registration has the webhooks.
func sameWebhooks(t *testing.T, want *admissionregistrationv1.MutatingWebhookConfiguration) error {
	t.Helper()
	got := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := land.Client().Get(t.Context(), client.ObjectKeyFromObject(want), got); err != nil {
		return err
	}
	if diff := cmp.Diff(want.Webhooks, got.Webhooks); diff != "" {
		return errors.New(diff)
	}
	return nil
}
