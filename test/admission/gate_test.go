// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	gardenerextensions "github.com/gardener/gardener/pkg/extensions"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// waited is an Extension as gardenlet makes it and waits for it.
func waited(ctx context.Context, namespace, name, extensionType string) *extensionsv1alpha1.Extension {
	GinkgoHelper()
	e := &extensionsv1alpha1.Extension{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{
			"gardener.cloud/operation": "reconcile", "gardener.cloud/timestamp": time.Now().UTC().Format(time.RFC3339Nano),
		}},
		Spec: extensionsv1alpha1.ExtensionSpec{DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: extensionType}},
	}
	Expect(land.Client().Create(ctx, e)).To(Succeed())
	return e
}

// expectReady waits as gardenlet does.
func expectReady(ctx context.Context, e *extensionsv1alpha1.Extension) {
	GinkgoHelper()
	err := gardenerextensions.WaitUntilExtensionObjectReady(ctx, land.Client(), logr.Discard(), e,
		extensionsv1alpha1.ExtensionResource,
		20*time.Millisecond, patience, patience, nil)
	Expect(err).NotTo(HaveOccurred())
}

// expectShut waits for an error, and compares it.
func expectShut(ctx context.Context, e *extensionsv1alpha1.Extension, text string) {
	GinkgoHelper()
	Eventually(func() error {
		if err := land.Client().Get(ctx, client.ObjectKeyFromObject(e), e); err != nil {
			return err
		}
		if e.Status.LastError == nil || !strings.Contains(e.Status.LastError.Description, text) {
			return fmt.Errorf("the status is %+v", e.Status)
		}
		return nil
	}).Should(Succeed(), "an error that gardenlet shows")
}

// expectUnanswered checks that an Extension is as it was made.
func expectUnanswered(ctx context.Context, e *extensionsv1alpha1.Extension) {
	GinkgoHelper()
	Expect(land.Client().Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
	Expect(e.Annotations).To(HaveKeyWithValue("gardener.cloud/operation", "reconcile"), "annotations of the Extension %s",
		e.Name)
	Expect(e.Status.LastOperation).To(BeNil(), "the answer to the Extension %s of the type %s", e.Name, e.Spec.Type)
	Expect(e.Finalizers).To(BeEmpty(), "finalizers of the Extension %s", e.Name)
}

// forbidRegistration removes the program's permission to register webhooks in a namespace, and returns a function that
// restores it.
func forbidRegistration(ctx context.Context, namespace string) func() {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{}
	Expect(land.Client().Get(ctx, client.ObjectKey{Name: namespace + "-" + programName}, role)).To(Succeed())
	all := slices.Clone(role.Rules)
	role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.Verbs, "create") && rule.Resources[0] != "events"
	})
	Expect(len(role.Rules)).To(Equal(len(all)-1), "rules without the permission")
	Expect(land.Client().Update(ctx, role)).To(Succeed())
	return func() {
		role.Rules = all
		Expect(land.Client().Update(ctx, role)).To(Succeed())
	}
}

var _ = Describe("gardenlet, which waits for an Extension,", func() {
	It("waits until the webhooks of its control plane are registered", func(ctx SpecContext) {
		var permit func()
		p := launch(ctx, programOptions{
			Profiles: map[string]string{"acme": setFlag("acme", "acme", "gate", "open")},
			Config:   "gate: {enabled: true}\n",
			Values:   map[string]any{"config": map[string]any{"gate": map[string]any{"enabled": true}}},
			Before:   func(namespace string) { permit = forbidRegistration(ctx, namespace) },
		})
		served, unserved, leftAlone := newShoot(ctx, "gated", "acme"), newShoot(ctx, "ungated", "nobody"),
			newShoot(ctx, "opted", "acme")
		optOut(ctx, leftAlone, "a test")
		e := waited(ctx, served, "graft", "graft")
		others := []*extensionsv1alpha1.Extension{waited(ctx, served, "other", "other"),
			waited(ctx, newShoot(ctx, "others", "acme"), "graft", "other")}
		expectShut(ctx, e, "The webhooks for this control plane are not ready: reading the registration")
		expectReady(ctx, waited(ctx, unserved, "graft", "graft"))
		expectReady(ctx, waited(ctx, leftAlone, "graft", "graft"))
		optOut(ctx, leftAlone, "") // others count opted-out ones
		expectShut(ctx, e, "not ready")

		permit()
		expectReady(ctx, e)
		Expect(registered(ctx)).To(Equal([]string{"controlplane.acme"}), "registered webhooks when gardenlet continues")
		p.waitReady()
		syncWebhooks(ctx)
		expectFlags(create(ctx, deployment(served, "kube-controller-manager")), map[string]bool{"--gate=open": true})

		// A control plane that moves to another seed, and one that is deleted, also without a running program.
		Expect(gardenerextensions.MigrateExtensionObject(ctx, land.Client(), e)).To(Succeed())
		Expect(gardenerextensions.WaitUntilExtensionObjectMigrated(ctx, land.Client(), e,
			extensionsv1alpha1.ExtensionResource, 20*time.Millisecond, patience)).To(Succeed())
		for _, other := range others {
			expectUnanswered(ctx, other)
		}
		Expect(p.stop()).To(BeNumerically("==", 0), "exit status of the program")
		Expect(gardenerextensions.DeleteExtensionObject(ctx, land.Client(), e)).To(Succeed())
		Expect(land.Client().Get(ctx, client.ObjectKeyFromObject(e), e)).
			To(MatchError(apierrors.IsNotFound, "IsNotFound"), "reading the deleted Extension")
	})
})

var _ = Describe("a program without the gate", func() {
	It("answers no Extension, and needs no permission for it", func(ctx SpecContext) {
		p := start(ctx, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "gate", "none")}})
		e := waited(ctx, newShoot(ctx, "no-gate", "acme"), "graft", "graft")
		expectFlags(create(ctx, deployment(e.Namespace, "kube-controller-manager")), map[string]bool{"--gate=none": true})
		expectUnanswered(ctx, e)
		Expect(p.log.String()).NotTo(ContainSubstring("forbidden"), "the log of the program")
	})
})
