// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestDropFuture holds that what was issued in a time to come goes, and nothing else.
func TestDropFuture(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	certificates := Certificates{Component: "provider-graft", Namespace: "garden"}
	ours := map[string]string{"managed-by": "secrets-manager", "manager-identity": certificates.identity()}
	secret := func(namespace, name string, labels map[string]string, issued string) client.Object {
		labels = maps.Clone(labels)
		labels["issued-at-time"] = issued
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
	}
	at := func(after time.Duration) string { return strconv.FormatInt(now.Add(after).Unix(), 10) }
	c := fake.NewClientBuilder().WithObjects(
		secret("garden", "past", ours, at(-time.Hour)),
		secret("garden", "of-a-clock-a-little-ahead", ours, at(skew)),
		secret("garden", "future", ours, at(skew+time.Second)),
		secret("garden", "wrong", ours, "tomorrow"),
		secret("garden", "of-others", map[string]string{"managed-by": "secrets-manager"}, at(time.Hour)),
		secret("elsewhere", "future", ours, at(time.Hour)),
	).Build()
	if err := certificates.dropFuture(t.Context(), c, c, now); err != nil {
		t.Fatal(err)
	}
	left := &corev1.SecretList{}
	if err := c.List(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range left.Items {
		names = append(names, s.Namespace+"/"+s.Name)
	}
	want := []string{"elsewhere/future", "garden/of-a-clock-a-little-ahead", "garden/of-others", "garden/past", "garden/wrong"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}
