// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestNames tests that editors are offered the flags and feature gates of each component, with their versions.
func TestNames(t *testing.T) {
	schema, err := providerProfile()
	if err != nil {
		t.Fatal(err)
	}
	resolve := func(t *testing.T, field any) jsonSchema {
		t.Helper()
		name, _ := field.(jsonSchema)["$ref"].(string)
		found, ok := schema["definitions"].(jsonSchema)[strings.TrimPrefix(name, definitions)].(jsonSchema)
		if !ok {
			t.Fatalf("there is no definition %q", name)
		}
		return found
	}
	properties := func(from any) jsonSchema { return from.(jsonSchema)["properties"].(jsonSchema) }
	set := properties(schema["definitions"].(jsonSchema)["set"])
	operationOf := func(t *testing.T, target, operation string) jsonSchema {
		rule := resolve(t, set[target].(jsonSchema)["items"])
		return properties(resolve(t, properties(rule)[operation]))
	}
	for _, c := range []struct{ target, operation, name, says string }{
		{"kube-apiserver", "flags", "anonymous-auth", "1.31"},
		{"kube-controller-manager", "flags", "cloud-provider", "1.3"},
		{"kubelet", "featureGates", "KubeletInUserNamespace", "1.3"},
		{"kube-scheduler", "featureGates", "VolumeAttributesClass", "1.34"},
	} {
		t.Run(c.target+"/"+c.name, func(t *testing.T) {
			names := operationOf(t, c.target, c.operation)
			if c.operation == "flags" {
				names = properties(names["set"])
			}
			offered, ok := names[c.name].(jsonSchema)
			if !ok || !strings.Contains(offered["description"].(string), c.says) {
				t.Errorf("%s is offered as %v, want a description with %s", c.name, names[c.name], c.says)
			}
		})
	}
	if _, ok := properties(operationOf(t, "kube-apiserver", "flags")["set"])["feature-gates"]; ok {
		t.Error("feature-gates is offered as a flag")
	}
}
