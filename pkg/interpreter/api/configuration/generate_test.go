// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package configuration_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
)

type generatedCase struct {
	About       string                        `json:"about"`
	Kinds       []interpreter.Known           `json:"kinds"`
	Interpreter []configuration.OperationRule `json:"interpreter"`
	Exploring   []configuration.OperationRule `json:"exploring"`
}

// TestGenerated checks the generated rules, which do not depend on the order of the kinds.
func TestGenerated(t *testing.T) {
	raw, err := os.ReadFile("testdata/generated.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []generatedCase
	if err := yaml.UnmarshalStrict(raw, &cases); err != nil {
		t.Fatal(err)
	}
	at := configuration.Endpoint{URL: "https://graft.example.com/interpret"}
	for _, c := range cases {
		t.Run(c.About, func(t *testing.T) {
			for range 2 {
				shipped := configuration.Generate(api.KindContext, "graft", c.Kinds, at)
				if diff := gocmp.Diff(c.Interpreter, shipped.Webhooks[0].Rules, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("as it is shipped (-want +got):\n%s", diff)
				}
				exploring := configuration.Generate(api.KindReview, "graft", c.Kinds, at)
				if diff := gocmp.Diff(c.Exploring, exploring.Webhooks[0].Rules, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("as the proposal has it (-want +got):\n%s", diff)
				}
				slices.Reverse(c.Kinds)
			}
		})
	}
}

// TestEndpoints checks the generated address of a webhook.
func TestEndpoints(t *testing.T) {
	service := &admissionv1.ServiceReference{Namespace: "karmada-system", Name: "graft", Path: ptr.To("/interpret")}
	whole := service.DeepCopy()
	whole.Port = ptr.To[int32](443)
	for _, c := range []struct {
		about   string
		at      configuration.Endpoint
		want    admissionv1.WebhookClientConfig
		seconds int32
	}{
		{"a URL", configuration.Endpoint{URL: "https://a.example.com/x"}, admissionv1.WebhookClientConfig{URL: ptr.To("https://a.example.com/x")}, 10},
		{"a service, with its port", configuration.Endpoint{Service: service, TimeoutSeconds: 3}, admissionv1.WebhookClientConfig{Service: whole}, 3},
	} {
		t.Run(c.about, func(t *testing.T) {
			shipped, exploring := configuration.Generate(api.KindContext, "graft", nil, c.at), configuration.Generate(api.KindReview, "graft", nil, c.at)
			if diff := gocmp.Diff(c.want, shipped.Webhooks[0].ClientConfig); diff != "" {
				t.Error(diff)
			}
			if diff := gocmp.Diff(c.want, exploring.Webhooks[0].ClientConfig); diff != "" {
				t.Error(diff)
			}
			if got := []*int32{shipped.Webhooks[0].TimeoutSeconds, exploring.Webhooks[0].TimeoutSeconds}; *got[0] != c.seconds || *got[1] != c.seconds {
				t.Errorf("got %d and %d seconds", *got[0], *got[1])
			}
			if errs := c.at.Validate(); len(errs) > 0 {
				t.Error(errs)
			}
		})
	}
	if service.Port != nil {
		t.Error("the given service was changed")
	}
}

// TestConfigurationHasExactlyOperationsWithRules checks that the configuration for Gardener's kinds has exactly the operations with rules.
func TestConfigurationHasExactlyOperationsWithRules(t *testing.T) {
	documents, err := gardener.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	program, findings := rule.Compile(documents)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	names := map[interpreter.Operation]string{}
	for name, o := range api.Operations(api.KindContext) {
		names[o] = name
	}
	var want, got []string
	for _, k := range program.Kinds() {
		for _, o := range k.Operations {
			if o != interpreter.Prune {
				want = append(want, fmt.Sprint(k.Kind, names[o]))
			}
		}
	}
	for _, r := range configuration.Generate(api.KindContext, "graft", program.Kinds(), configuration.Endpoint{URL: "https://a.example.com"}).Webhooks[0].Rules {
		for _, kind := range r.Kinds {
			for _, version := range r.APIVersions {
				for _, o := range r.Operations {
					got = append(got, fmt.Sprint(interpreter.Kind{Group: r.APIGroups[0], Version: version, Kind: kind}, o))
				}
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := gocmp.Diff(want, got); diff != "" || len(got) < 50 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
