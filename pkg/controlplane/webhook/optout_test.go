// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

func namespaceWith(name, reason string) *metav1.PartialObjectMetadata {
	namespace := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if reason != "" {
		namespace.Annotations = map[string]string{OptOutAnnotation: reason}
	}
	return namespace
}

// TestOptOuts follows namespaces that come, change and go.
func TestOptOuts(t *testing.T) {
	registry := prometheus.NewRegistry()
	o := NewOptOuts(NewMetrics(registry), logr.Discard())
	f := &fixture{registry: registry}
	for _, step := range []struct {
		name  string
		do    func()
		out   bool
		count float64
	}{
		{"no namespace was seen", func() {}, false, 0},
		{"a namespace without the annotation", func() { o.see(namespaceWith("a", "")) }, false, 0},
		{"the annotation is added", func() { o.see(namespaceWith("a", "broken")) }, true, 1},
		{"the reason changes", func() { o.see(namespaceWith("a", "still broken")) }, true, 1},
		{"another namespace gets the annotation", func() { o.see(namespaceWith("b", "broken, too")) }, true, 2},
		{"the namespace is deleted while the watch is interrupted", func() { o.forget(toolscache.DeletedFinalStateUnknown{Obj: namespaceWith("b", "broken, too")}) }, true, 1},
		{"the annotation is removed", func() { o.see(namespaceWith("a", "")) }, false, 0},
		{"the namespace is deleted", func() { o.forget(namespaceWith("a", "")) }, false, 0},
		{"not a namespace", func() { o.see("a"); o.forget(1) }, false, 0},
	} {
		step.do()
		if got := o.Contains("a"); got != step.out {
			t.Errorf("%s: Contains is %t", step.name, got)
		}
		if got := f.count(t, "graft_opted_out_namespaces", nil); got != step.count {
			t.Errorf("%s: %v are counted, want %v", step.name, got, step.count)
		}
	}
	if (*OptOuts)(nil).Contains("a") {
		t.Error("a nil set contains something")
	}
}
