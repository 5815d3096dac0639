// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// events are those of Graft in a namespace.
func events(t *testing.T, namespace string) []corev1.Event {
	t.Helper()
	list, ours := &corev1.EventList{}, []corev1.Event{}
	if err := land.Client().List(t.Context(), list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for _, event := range list.Items {
		if event.Source.Component == programName {
			ours = append(ours, event)
		}
	}
	return ours
}

// TestDenialEvents checks that a denial creates one Event in the namespace of its object, with the permissions of the
// chart, and that a dry run creates none.
func TestDenialEvents(t *testing.T) {
	p := start(t, programOptions{
		Profiles: map[string]string{"number": failing["number"]},
		Values:   map[string]any{"lookups": map[string]any{"secrets": []any{"cloudprovider"}}},
	})
	namespace := newShoot(t, "events", "number")
	secret := &corev1.Secret{StringData: map[string]string{"password": secretValue}}
	secret.Namespace, secret.Name = namespace, "cloudprovider"
	if err := land.Client().Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	object := deployment(namespace, "kube-controller-manager", "--v=2")
	p.expectCount(t, 1, "graft_admission_failures_total", labels{"reason": "ExpressionFailed"}, func() {
		expectDenied(t, land.Client().Create(t.Context(), object.DeepCopy(), client.DryRunAll), 500, "ExpressionFailed")
	})
	if got := p.counter("graft_events_total", nil); got != 0 {
		t.Errorf("a dry run has made %v events", got)
	}
	const times = 3
	for range times {
		expectDenied(t, land.Client().Create(t.Context(), object.DeepCopy()), 500, "ExpressionFailed")
	}
	var found []corev1.Event
	eventually(t, "the event", func() error {
		if found = events(t, namespace); len(found) != 1 || found[0].Count != times {
			return fmt.Errorf("there are %+v", found)
		}
		return nil
	})
	event := found[0]
	if o := event.InvolvedObject; o.APIVersion != "apps/v1" || o.Kind != "Deployment" || o.Name != "kube-controller-manager" || o.Namespace != namespace {
		t.Errorf("it is of %+v", o)
	}
	if event.Type != corev1.EventTypeWarning || event.Reason != "ExpressionFailed" || !strings.Contains(event.Message, "number.yaml:8") {
		t.Errorf("it says %s %s: %s", event.Type, event.Reason, event.Message)
	}
	if strings.Contains(event.Message, secretValue) {
		t.Error("the value of a Secret is in it")
	}
}
