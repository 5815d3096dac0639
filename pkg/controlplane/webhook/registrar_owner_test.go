// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// TestRegistrarKeepsRegistrationOfOtherNamespace checks that the registration of another existing namespace is not overwritten, and that of a
// missing one is.
func TestRegistrarKeepsRegistrationOfOtherNamespace(t *testing.T) {
	for name, test := range map[string]struct {
		object client.Object
		want   bool
	}{
		"the owner exists":           {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "another"}}, false},
		"the owner is deleted":       {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a third"}}, true},
		"the owner is being deleted": {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "another", DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}, Finalizers: []string{"kubernetes"}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, test.object, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
				Name: service.Name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: "another", UID: "x"}},
			}})
			_, err := b.Reconcile(t.Context(), reconcile.Request{})
			if (err == nil) != test.want || err != nil && !strings.Contains(err.Error(), "belongs to the installation in the namespace another") {
				t.Errorf("the error is %v", err)
			}
			if got := b.read(t); (len(got.Webhooks) > 0) != test.want || (got.OwnerReferences[0].Name == "another") == test.want {
				t.Errorf("unexpected registration: %+v", got)
			}
			if err := b.Check(t.Context(), false); (err == nil) != test.want {
				t.Errorf("ready: %v", err)
			}
		})
	}
}

// TestRegistrarOwner checks that the ClusterRole of the installation, which is deleted first, owns the registration.
func TestRegistrarOwner(t *testing.T) {
	b := newBench(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: service.Name, UID: "r"}})
	b.reconcile(t)
	if got := b.read(t); len(got.OwnerReferences) != 1 || got.OwnerReferences[0].Kind != "ClusterRole" || got.OwnerReferences[0].UID != "r" || ownerOf(got) != service.Namespace {
		t.Errorf("the owner is %+v, of %s", got.OwnerReferences, ownerOf(got))
	}
}

// TestObservedWebhookLetsNoInstallationYield checks that an older installation keeps mutating if all rules of the newer
// webhook only observe.
func TestObservedWebhookLetsNoInstallationYield(t *testing.T) {
	b := newBench(t)
	b.registrations = append(b.registrations, mutation.Registration{Set: "controlplane", Provider: "aws", Forms: forms(t, "kube-apiserver"), Observed: true})
	b.reconcile(t)
	if got := b.read(t).Annotations[ServesAnnotation]; got != openstackName {
		t.Errorf("unexpected providers in the annotation: %s", got)
	}
}
