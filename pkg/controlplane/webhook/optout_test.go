// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func namespaceWith(name, reason string) *corev1.Namespace {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if reason != "" {
		namespace.Annotations = map[string]string{OptOutAnnotation: reason}
	}
	return namespace
}

// TestOptOuts finds and counts the namespaces with the annotation.
func TestOptOuts(t *testing.T) {
	o := &OptOuts{fake.NewClientBuilder().WithObjects(namespaceWith("a", "broken"), namespaceWith("b", ""), namespaceWith("c", "broken, too")).Build()}
	for name, want := range map[string]bool{"a": true, "b": false, "c": true, "missing": false, "": false} {
		if got := o.Contains(t.Context(), name); got != want {
			t.Errorf("Contains(%q) is %t", name, got)
		}
	}
	if got := o.Count(); got != 2 {
		t.Errorf("%v are counted, want 2", got)
	}
	if (*OptOuts)(nil).Contains(t.Context(), "a") {
		t.Error("a nil set contains something")
	}
}
