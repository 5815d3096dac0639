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
)

// events returns Graft's Events in a namespace.
func events(ctx context.Context, namespace string) []corev1.Event {
	GinkgoHelper()
	list, ours := &corev1.EventList{}, []corev1.Event{}
	Expect(land.Client().List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	for _, event := range list.Items {
		if event.Source.Component == programName {
			ours = append(ours, event)
		}
	}
	return ours
}

var _ = Describe("a denial", func() {
	It("is one event in the namespace of its object however often it is repeated, and none for a dry run",
		func(ctx SpecContext) {
			p := start(ctx, programOptions{
				Profiles: map[string]string{"number": failing["number"]},
				Values:   map[string]any{"lookups": map[string]any{"secrets": []any{"cloudprovider"}}},
			})
			namespace := newShoot(ctx, "events", "number")
			secret := &corev1.Secret{StringData: map[string]string{"password": secretValue}}
			secret.Namespace, secret.Name = namespace, "cloudprovider"
			Expect(land.Client().Create(ctx, secret)).To(Succeed())
			object := deployment(namespace, "kube-controller-manager", "--v=2")
			p.expectCount(1, "graft_admission_failures_total", labels{"reason": "ExpressionFailed"}, func() {
				expectDenied(land.Client().Create(ctx, object.DeepCopy(), client.DryRunAll), 500, "ExpressionFailed")
			})
			Expect(p.counter("graft_events_total", nil)).To(BeNumerically("==", 0), "events of a dry run")
			const times = 3
			for range times {
				expectDenied(land.Client().Create(ctx, object.DeepCopy()), 500, "ExpressionFailed")
			}
			var found []corev1.Event
			Eventually(func() error {
				if found = events(ctx, namespace); len(found) != 1 || found[0].Count != times {
					return fmt.Errorf("there are %+v", found)
				}
				return nil
			}).Should(Succeed(), "the event")
			event := found[0]
			o := event.InvolvedObject
			Expect([]string{o.APIVersion, o.Kind, o.Namespace, o.Name}).
				To(Equal([]string{"apps/v1", "Deployment", namespace, "kube-controller-manager"}), "the object of the event")
			Expect(event.Type).To(Equal(corev1.EventTypeWarning), "the type of the event")
			Expect(event.Reason).To(Equal("ExpressionFailed"), "the reason of the event")
			Expect(event.Message).To(ContainSubstring("number.yaml:8"), "the message of the event")
			Expect(event.Message).NotTo(ContainSubstring(secretValue), "the message of the event")
		})
})
