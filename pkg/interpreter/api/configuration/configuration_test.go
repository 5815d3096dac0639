// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package configuration_test

import (
	"cmp"
	"encoding/json"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
)

// object is a configuration of either dialect.
type object interface {
	Default()
	Validate() field.ErrorList
}

type configurationCase struct {
	About      string          `json:"about"`
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Webhooks   json.RawMessage `json:"webhooks"`
	Errors     []string        `json:"errors"`
	// Defaulted are the webhooks with the defaults, or "same".
	Defaulted json.RawMessage `json:"defaulted"`
}

func TestInterpreters(t *testing.T) {
	walk(t, "testdata/interpreter.yaml", configuration.KindInterpreter, func() object { return &configuration.ResourceInterpreterWebhookConfiguration{} })
}

func TestExploring(t *testing.T) {
	walk(t, "testdata/exploring.yaml", configuration.KindExploring, func() object { return &configuration.ResourceExploringWebhookConfiguration{} })
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
			if diff := gocmp.Diff(c.Errors, found(t, o)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			o.Default()
			if diff := gocmp.Diff(c.Errors, found(t, o)); diff != "" {
				t.Errorf("with the defaults (-want +got):\n%s", diff)
			}
			if c.Defaulted == nil {
				return
			}
			if string(c.Defaulted) == `"same"` {
				c.Defaulted = c.Webhooks
			}
			if diff := gocmp.Diff(value(t, c.Defaulted), webhooks(t, o)); diff != "" {
				t.Errorf("the defaults (-want +got):\n%s", diff)
			}
		})
	}
}

// found are the errors, and holds that they tell no secret.
func found(t *testing.T, o object) []string {
	t.Helper()
	var all []string
	for _, err := range o.Validate() {
		all = append(all, err.Field+" "+string(err.Type))
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("it tells a secret: %s", err)
		}
	}
	return all
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

func TestVersion(t *testing.T) {
	for _, c := range []struct {
		preferred []string
		want      string
	}{
		{[]string{"v1alpha1"}, "v1alpha1"},
		{[]string{"v2", "v1alpha1", "v1"}, "v1alpha1"},
		{[]string{"v2", "v1"}, ""},
		{nil, ""},
	} {
		got, err := configuration.Version(c.preferred)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: got %q, %v", c.preferred, got, err)
		}
	}
}
