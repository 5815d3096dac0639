// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
)

// TestValidator checks that a ConfigMap is rejected for its own errors, and gets warnings for conflicts with other
// profiles.
func TestValidator(t *testing.T) {
	store := NewStore(compileTogether, nil, NewMetrics(prometheus.NewRegistry()), logr.Discard())
	if err := store.Load(t.Context(), &reader{files: append(
		folder.FromConfigMap("own", "a", map[string]string{"p.yaml": string(valued("a", "one", "1").Data)}),
		valued("b", "two", "1"),
	)}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data    map[string]string
		label   string
		denied  string // the expected part of the message; empty: allowed
		warning string
	}{
		"accepts a valid profile":                   {data: map[string]string{"p.yaml": string(valued("a", "one", "2").Data)}},
		"denies a misspelt field":                   {data: map[string]string{"p.yaml": string(typo(valued("a", "one", "2")).Data)}, denied: "configmap/own/a/p.yaml:6:1: "},
		"denies a document that is not YAML":        {data: map[string]string{"p.yaml": "a: [\n"}, denied: "configmap/own/a/p.yaml"},
		"one of two keys":                           {data: map[string]string{"p.yaml": string(valued("a", "one", "2").Data), "q.yaml": "kind: X\n"}, denied: "configmap/own/a/q.yaml:1:"},
		"a typo, no profile":                        {data: map[string]string{"p.yaml": "a: [\n"}, label: "false"},
		"warns about contradicting profiles":        {data: map[string]string{"p.yaml": string(valued("c", "two", "2").Data)}, warning: "configmap/own/a/p.yaml:5:"},
		"name of another profile":                   {data: map[string]string{"p.yaml": string(valued("b", "one", "1").Data)}, warning: `"b" is already defined`},
		"warns about a ConfigMap without a profile": {data: map[string]string{"p.txt": "x"}, warning: "the ConfigMap has no profile"},
	} {
		t.Run(name, func(t *testing.T) {
			label := "true"
			if c.label != "" {
				label = c.label
			}
			raw, err := json.Marshal(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{ProfileLabel: label}}, Data: c.data})
			if err != nil {
				t.Fatal(err)
			}
			response := Validator{store}.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Namespace: "own", Name: "a", Object: runtime.RawExtension{Raw: raw},
			}})
			if response.Allowed != (c.denied == "") || !strings.Contains(response.Result.Message, c.denied) {
				t.Errorf("allowed is %v: %s", response.Allowed, response.Result.Message)
			}
			if got := strings.Join(response.Warnings, "\n"); (got == "") != (c.warning == "") || !strings.Contains(got, c.warning) {
				t.Errorf("the warnings are %q", got)
			}
		})
	}
}
