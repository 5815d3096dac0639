// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
)

var _ = Describe("a namespace with the annotation that opts out", func() {
	It("has its objects admitted unchanged and counted, until the annotation is removed", func(ctx SpecContext) {
		p := start(ctx, programOptions{Profiles: map[string]string{"acme": head("acme", "acme") + `lookups:
  missing: {secret: missing, keys: [key]}
controlplane:
  kube-controller-manager:
  - flags: {set: {key: "${ lookups.missing.key }"}}
`}, Values: map[string]any{"lookups": map[string]any{"secrets": []any{"missing"}}}})
		namespace := newShoot(ctx, "optout", "acme")
		denied := labels{"result": "denied"}
		out := labels{"result": "opted-out", "target": "kube-controller-manager"}
		p.expectCount(1, "graft_admissions_total", denied, func() {
			expectDenied(land.Client().Create(ctx, deployment(namespace, "kube-controller-manager")), 422, "LookupMissing")
		})

		optOut(ctx, namespace, "the Secret of this shoot was lost")
		Eventually(p.expectOptedOut(1)).Should(Succeed(), "the annotation is seen")
		p.expectCount(1, "graft_admissions_total", out, func() {
			manager := create(ctx, deployment(namespace, "kube-controller-manager"))
			expectFlags(manager, map[string]bool{"--key=": false})
			Expect(land.Client().Delete(ctx, manager)).To(Succeed())
		})
		p.log.waitFor("the Secret of this shoot was lost")

		optOut(ctx, namespace, "")
		Eventually(p.expectOptedOut(0)).Should(Succeed(), "the annotation is gone")
		p.expectCount(1, "graft_admissions_total", denied, func() {
			expectDenied(land.Client().Create(ctx, deployment(namespace, "kube-controller-manager")), 422, "LookupMissing")
		})
	})
})

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
func optOut(ctx context.Context, name, reason string) {
	GinkgoHelper()
	namespace := &corev1.Namespace{}
	Expect(land.Client().Get(ctx, client.ObjectKey{Name: name}, namespace)).To(Succeed())
	before := namespace.DeepCopy()
	if namespace.Annotations == nil {
		namespace.Annotations = map[string]string{}
	}
	namespace.Annotations[webhook.OptOutAnnotation] = reason
	if reason == "" {
		delete(namespace.Annotations, webhook.OptOutAnnotation)
	}
	Expect(land.Client().Patch(ctx, namespace, client.MergeFrom(before))).To(Succeed())
}
