// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
)

// TestOptOut denies everything by a rule: an annotation on the namespace lets its control plane pass unchanged and is
// counted; without it, the rule applies again.
func TestOptOut(t *testing.T) {
	p := start(t, programOptions{Profiles: map[string]string{"acme": head("acme", "acme") + `lookups:
  missing: {secret: missing, keys: [key]}
controlplane:
  kube-controller-manager:
  - flags: {set: {key: "${ lookups.missing.key }"}}
`}, Values: map[string]any{"lookups": map[string]any{"secrets": []any{"missing"}}}})
	namespace := newShoot(t, "optout", "acme")
	denied := labels{"result": "denied"}
	out := labels{"result": "opted-out", "target": "kube-controller-manager"}
	p.expectCount(t, 1, "graft_admissions_total", denied, func() {
		expectDenied(t, land.Client().Create(t.Context(), deployment(namespace, "kube-controller-manager")), 422, "LookupMissing")
	})

	optOut(t, namespace, "the Secret of this shoot was lost")
	eventually(t, "the annotation is seen", p.expectOptedOut(1))
	p.expectCount(t, 1, "graft_admissions_total", out, func() {
		manager := create(t, deployment(namespace, "kube-controller-manager"))
		expectFlags(t, manager, map[string]bool{"--key=": false})
		if err := land.Client().Delete(t.Context(), manager); err != nil {
			t.Fatal(err)
		}
	})
	p.log.waitFor(t, "the Secret of this shoot was lost")

	optOut(t, namespace, "")
	eventually(t, "the annotation is gone", p.expectOptedOut(0))
	p.expectCount(t, 1, "graft_admissions_total", denied, func() {
		expectDenied(t, land.Client().Create(t.Context(), deployment(namespace, "kube-controller-manager")), 422, "LookupMissing")
	})
}

// expectOptedOut checks how many control planes are left alone.
func (p *program) expectOptedOut(want float64) func() error {
	return func() error {
		if got := p.counter("graft_opted_out_namespaces", nil); got != want {
			return fmt.Errorf("%v control planes are left alone, want %v", got, want)
		}
		return nil
	}
}

// optOut sets the annotation of the namespace that opts out, or removes it.
func optOut(t *testing.T, name, reason string) {
	t.Helper()
	namespace := &corev1.Namespace{}
	if err := land.Client().Get(t.Context(), client.ObjectKey{Name: name}, namespace); err != nil {
		t.Fatal(err)
	}
	before := namespace.DeepCopy()
	if namespace.Annotations == nil {
		namespace.Annotations = map[string]string{}
	}
	namespace.Annotations[webhook.OptOutAnnotation] = reason
	if reason == "" {
		delete(namespace.Annotations, webhook.OptOutAnnotation)
	}
	if err := land.Client().Patch(t.Context(), namespace, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}
