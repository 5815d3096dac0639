// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package configuration_test

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
)

// object is a configuration of either dialect.
type object interface {
	Default()
}

type configurationCase struct {
	About      string          `json:"about"`
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Webhooks   json.RawMessage `json:"webhooks"`
	// Defaulted are the webhooks with the defaults, or "same".
	Defaulted json.RawMessage `json:"defaulted"`
}

func TestInterpreters(t *testing.T) {
	walk(t, "testdata/interpreter.yaml", configuration.KindInterpreter, func() object { return &configuration.Configuration{} })
}

func TestExploring(t *testing.T) {
	walk(t, "testdata/exploring.yaml", configuration.KindExploring, func() object { return &configuration.Configuration{} })
}

func walk(t *testing.T, file, kind string, empty func() object) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []configurationCase
	if err := yaml.UnmarshalStrict(raw, &cases); err != nil || len(cases) == 0 {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.About, func(t *testing.T) {
			o := empty()
			raw, _ := json.Marshal(map[string]any{
				"apiVersion": cmp.Or(c.APIVersion, configuration.APIVersion), "kind": cmp.Or(c.Kind, kind), "webhooks": c.Webhooks,
			})
			if err := yaml.UnmarshalStrict(raw, o); err != nil {
				t.Fatal(err)
			}
			o.Default()
			if string(c.Defaulted) == `"same"` {
				c.Defaulted = c.Webhooks
			}
			if diff := gocmp.Diff(value(t, c.Defaulted), webhooks(t, o)); diff != "" {
				t.Errorf("the defaults (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLocations checks the errors in the location of a webhook, and that they contain no secret.
func TestLocations(t *testing.T) {
	service := func(namespace, name, path string, port int32) configuration.Endpoint {
		return configuration.Endpoint{Service: &admissionv1.ServiceReference{Namespace: namespace, Name: name, Path: &path, Port: &port}}
	}
	url := func(text string) configuration.Endpoint { return configuration.Endpoint{URL: text} }
	both := service("a", "b", "", 443)
	both.URL = "https://example.com"
	for name, c := range map[string]struct {
		at   configuration.Endpoint
		want []string
	}{
		"neither URL nor service":     {configuration.Endpoint{}, []string{"clientConfig FieldValueRequired"}},
		"URL and service together":    {both, []string{"clientConfig FieldValueRequired"}},
		"a URL without https":         {url("http://example.com"), []string{"clientConfig.url FieldValueNotSupported"}},
		"user, query, fragment":       {url("https://user:secret@example.com/?a=b#c"), slices.Repeat([]string{"clientConfig.url FieldValueForbidden"}, 3)},
		"a URL without a host":        {url("https:///path"), []string{"clientConfig.url FieldValueRequired"}},
		"a URL that cannot be parsed": {url("https://a b"), []string{"clientConfig.url FieldValueTypeInvalid"}},
		"a service without name and namespace": {service("", "", "", 0), []string{
			"clientConfig.service.name FieldValueRequired", "clientConfig.service.namespace FieldValueRequired", "clientConfig.service.port FieldValueInvalid",
		}},
		"a port and a path": {service("a", "b", "interpret", 70000), []string{
			"clientConfig.service.port FieldValueInvalid", "clientConfig.service.path FieldValueInvalid",
		}},
		"an empty segment":      {service("a", "b", "/a//b", 443), []string{"clientConfig.service.path FieldValueInvalid"}},
		"a service with a path": {service("a", "b", "/a/b/", 443), nil},
		"a bundle without a certificate": {
			configuration.Endpoint{URL: "https://example.com", CABundle: []byte("none")}, []string{"clientConfig.caBundle FieldValueInvalid"},
		},
		"a timeout above the maximum": {configuration.Endpoint{URL: "https://example.com", TimeoutSeconds: 31}, []string{"timeoutSeconds FieldValueInvalid"}},
		"a negative timeout":          {configuration.Endpoint{URL: "https://example.com", TimeoutSeconds: -1}, []string{"timeoutSeconds FieldValueInvalid"}},
		"a timeout of one second":     {configuration.Endpoint{URL: "https://example.com", TimeoutSeconds: 1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, err := range c.at.Validate() {
				got = append(got, err.Field+" "+string(err.Type))
				if strings.Contains(err.Error(), "secret") {
					t.Errorf("it contains a secret: %s", err)
				}
			}
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func webhooks(t *testing.T, o object) any {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return value(t, all["webhooks"])
}

func value(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
