// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// TestRegistrarForeign checks that the registration of another existing namespace is not overwritten, and that of a
// missing one is.
func TestRegistrarForeign(t *testing.T) {
	for name, test := range map[string]struct {
		object client.Object
		want   bool
	}{
		"there":         {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "another"}}, false},
		"gone":          {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a third"}}, true},
		"being deleted": {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "another", DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}, Finalizers: []string{"kubernetes"}}}, true},
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
				t.Errorf("it is %+v", got)
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

// earlierRegistration is that of a version which gave all installations the same name.
func earlierRegistration(owner string) *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
		Name: service.Service, Labels: map[string]string{nameLabel: service.Service}, UID: "e",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: owner, UID: "u"}},
	}}
}

func (b *bench) hasEarlier(t *testing.T) bool {
	t.Helper()
	err := b.Client.Get(t.Context(), client.ObjectKey{Name: service.Service}, &admissionregistrationv1.MutatingWebhookConfiguration{})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return !apierrors.IsNotFound(err)
}

// TestRegistrarMigrates upgrades an installation of a version without segments: both are called by plain paths until its replicas are gone.
func TestRegistrarMigrates(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Service, Generation: 2},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 1}}
	b := newBench(t, earlierRegistration(service.Namespace), deployment)
	callers := &Callers{Segments: b.Segments, Reader: b.Client, Name: service.Name, Metrics: b.Metrics, Clock: b.clock}
	if err := callers.Prime(t.Context(), b.Registrar); err != nil {
		t.Fatal(err)
	}
	const secretPath = "/webhooks/s3gment/controlplane/openstack"
	step := func(what, registered string, earlier, plain bool) {
		t.Helper()
		b.reconcile(t)
		if err := callers.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := pathOf(&b.read(t).Webhooks[0]); got != registered || b.hasEarlier(t) != earlier || callers.accepts("") != plain || !callers.accepts("s3gment") {
			t.Errorf("%s: registered is %s, with that of the earlier version: %v; plain paths are accepted: %v", what, got, b.hasEarlier(t), callers.accepts(""))
		}
	}
	step("while replicas are replaced", plainPath, true, true)
	deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2}
	if err := b.Client.Status().Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	step("while the last ones end", plainPath, true, true)
	b.clock.SetTime(b.clock.Now().Add(settle))
	step("when they are gone", secretPath, false, true)
	b.clock.SetTime(b.clock.Now().Add(settle + time.Second))
	step("when all API servers know it", secretPath, false, false)
}

// TestRegistrarLeaves checks that the registration of an earlier version in another namespace stays and changes no
// path.
func TestRegistrarLeaves(t *testing.T) {
	b := newBench(t, earlierRegistration("another"))
	b.reconcile(t)
	if !b.hasEarlier(t) || pathOf(&b.read(t).Webhooks[0]) == plainPath {
		t.Error("the registration of another installation was taken for one's own")
	}
}

// TestObserved checks that another installation does not yield to a webhook with observed rules only.
func TestObserved(t *testing.T) {
	b := newBench(t)
	b.registrations = append(b.registrations, mutation.Registration{Set: "controlplane", Provider: "aws", Forms: forms(t, "kube-apiserver"), Observed: true})
	b.reconcile(t)
	if got := b.read(t).Annotations[ServesAnnotation]; got != openstackName {
		t.Errorf("it serves %s", got)
	}
}
