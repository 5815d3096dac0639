// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const leaseName = programName + "-leader-election"

// testReadiness starts a replica while another one holds the lease: it is live, and ready only when it is registered
// with the CA of its certificate.
func testReadiness(ctx context.Context) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: leaseName}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("somebody else"), LeaseDurationSeconds: ptr.To(int32(3600)),
		AcquireTime: ptr.To(metav1.NowMicro()), RenewTime: ptr.To(metav1.NowMicro()),
	}}
	p := launch(ctx, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")},
		Before: func(namespace string) {
			lease.Namespace = namespace
			Expect(land.Client().Create(ctx, lease)).To(Succeed())
		}})
	Eventually(func() error {
		status, body, err := get("http://" + p.Health + "/healthz")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("HTTP %d, %v: %s", status, err, body)
		}
		return nil
	}).Should(Succeed(), "the program to live")
	p.log.waitFor("attempting to acquire leader lease " + p.namespace + "/" + leaseName)
	Eventually(func() error {
		status, body, _ := get("http://" + p.Health + "/readyz?verbose")
		Expect(status).NotTo(Equal(http.StatusOK), "status of /readyz before the registration: %s", body)
		if !strings.Contains(body, "[+]caches ok") || !strings.Contains(body, "[+]profiles ok") ||
			!strings.Contains(body, "[-]registration failed") {
			return fmt.Errorf("the checks are %s", body)
		}
		return nil
	}).Should(Succeed(), "all but the registration")
	Expect(land.Client().Delete(ctx, lease)).To(Succeed())
	p.waitReady()
	status, body, err := get("http://" + p.Health + "/healthz")
	Expect(err).NotTo(HaveOccurred(), "reading /healthz")
	Expect(status).To(Equal(http.StatusOK), "status of /healthz: %s", body)
}

// testRegistration checks the registration, and that foreign changes of it are undone.
func testRegistration(ctx context.Context) {
	p := start(ctx, programOptions{
		Profiles:  map[string]string{"acme": setFlag("acme", "acme", "value", "x")},
		Arguments: []string{"--heartbeat-renew-interval-seconds=1"},
	})
	found := registration(ctx)
	got := found.Webhooks[0].DeepCopy()
	Expect(got.ClientConfig.CABundle).NotTo(BeEmpty(), "the CA bundle")
	got.ClientConfig.CABundle = nil
	want := &admissionregistrationv1.MutatingWebhook{
		Name: "controlplane.acme.graft.extensions.gardener.cloud",
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://" + p.Webhook + segmented(ctx,
			"/webhooks/controlplane/acme"))},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"},
				Scope: ptr.To(admissionregistrationv1.NamespacedScope),
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
		MatchConditions:         got.MatchConditions, // namespaces_test.go checks their effect
	}
	Expect(got).To(BeComparableTo(want), "the webhook")
	Expect(found.OwnerReferences).To(HaveLen(1), "owners of the registration")
	Expect(found.OwnerReferences[0].Kind).To(Equal("Namespace"), "the kind of the owner")
	Expect(found.OwnerReferences[0].Name).To(Equal(p.namespace), "the owner of the registration")

	changed := found.DeepCopy()
	changed.Webhooks[0].FailurePolicy = ptr.To(admissionregistrationv1.Ignore)
	changed.Webhooks[0].NamespaceSelector = nil
	Expect(land.Client().Update(ctx, changed)).To(Succeed())
	Eventually(sameWebhooks).WithArguments(ctx, found).Should(Succeed(), "waiting for the change to be undone")
	Expect(land.Client().Delete(ctx, found.DeepCopy())).To(Succeed())
	Eventually(sameWebhooks).WithArguments(ctx, found).Should(Succeed(), "waiting for the registration to be made again")

	Eventually(func() error {
		lease := &coordinationv1.Lease{}
		if err := land.Client().Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: "gardener-extension-heartbeat"},
			lease); err != nil {
			return err
		}
		if lease.Spec.RenewTime == nil || time.Since(lease.Spec.RenewTime.Time) > patience {
			return fmt.Errorf("it was renewed at %v", lease.Spec.RenewTime)
		}
		return nil
	}).Should(Succeed(), "the heartbeat")
}

// sameWebhooks reports whether the registration has the webhooks.
func sameWebhooks(ctx context.Context, want *admissionregistrationv1.MutatingWebhookConfiguration) error {
	GinkgoHelper()
	got := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := land.Client().Get(ctx, client.ObjectKeyFromObject(want), got); err != nil {
		return err
	}
	if diff := cmp.Diff(want.Webhooks, got.Webhooks); diff != "" {
		return errors.New(diff)
	}
	return nil
}
