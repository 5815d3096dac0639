// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var errNotYet = errors.New("not yet")

// serveTLS serves a handler on the loopback interface and returns how the API server reaches and trusts it.
func serveTLS(handler http.Handler) admissionregistrationv1.WebhookClientConfig {
	GinkgoHelper()
	server := httptest.NewTLSServer(handler)
	DeferCleanup(server.Close)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return admissionregistrationv1.WebhookClientConfig{URL: ptr.To(server.URL), CABundle: bundle}
}

// register creates a separate registration for Deployments named kube-controller-manager in a namespace, modified by
// change. It is removed at the end of the test.
func register(
	ctx context.Context, name, namespace string, to admissionregistrationv1.WebhookClientConfig,
	change func(*admissionregistrationv1.MutatingWebhook),
) {
	GinkgoHelper()
	webhook := admissionregistrationv1.MutatingWebhook{
		Name:         name + ".example.com",
		ClientConfig: to,
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"},
				Resources: []string{"deployments"}},
		}},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
		MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "name",
			Expression: `request.name == "kube-controller-manager"`}},
		SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
		AdmissionReviewVersions: []string{"v1"},
		TimeoutSeconds:          ptr.To(int32(10)),
	}
	if change != nil {
		change(&webhook)
	}
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionregistrationv1.MutatingWebhook{webhook},
	}
	Expect(land.Client().Create(ctx, configuration)).To(Succeed())
	DeferCleanup(func() {
		err := land.Client().Delete(context.Background(), configuration)
		Expect(client.IgnoreNotFound(err)).To(Succeed(), "deleting the registration")
	})
	syncWebhooks(ctx)
}

// registerMutator registers a foreign webhook with the function mutate. It counts its calls.
func registerMutator(ctx context.Context, name, namespace string,
	mutate func(*unstructured.Unstructured)) *atomic.Int32 {
	GinkgoHelper()
	return registerAgain(ctx, name, namespace, admissionregistrationv1.NeverReinvocationPolicy, mutate)
}

// registerAgain is registerMutator with a reinvocation policy.
func registerAgain(
	ctx context.Context, name, namespace string, again admissionregistrationv1.ReinvocationPolicyType,
	mutate func(*unstructured.Unstructured),
) *atomic.Int32 {
	GinkgoHelper()
	calls := &atomic.Int32{}
	handler := func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		review := &admissionv1.AdmissionReview{}
		object := &unstructured.Unstructured{}
		err := json.NewDecoder(r.Body).Decode(review)
		if err == nil {
			err = json.Unmarshal(review.Request.Object.Raw, object)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mutate(object)
		patch, err := patchTo(review.Request.Object.Raw, object)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: true, Patch: patch, PatchType: ptr.To(admissionv1.PatchTypeJSONPatch),
		}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review)
	}
	register(ctx, name, namespace, serveTLS(http.HandlerFunc(handler)),
		func(webhook *admissionregistrationv1.MutatingWebhook) {
			webhook.ReinvocationPolicy = &again
		})
	return calls
}

func patchTo(before []byte, object *unstructured.Unstructured) ([]byte, error) {
	after, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	operations, err := jsonpatch.CreatePatch(before, after)
	if err != nil {
		return nil, err
	}
	return json.Marshal(operations)
}
