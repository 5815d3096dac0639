// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// TestRegistrarOwner checks that the ClusterRole of the installation, which is deleted first, owns the registration.
func TestRegistrarOwner(t *testing.T) {
	b := newBench(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: service.Name, UID: "r"}})
	b.reconcile(t)
	if got := b.read(t); len(got.OwnerReferences) != 1 || got.OwnerReferences[0].Kind != "ClusterRole" || got.OwnerReferences[0].UID != "r" || got.Labels[NamespaceLabel] != service.Namespace {
		t.Errorf("the owner is %+v, the labels are %v", got.OwnerReferences, got.Labels)
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
