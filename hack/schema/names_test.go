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
	schema, err := profiles()
	if err != nil {
		t.Fatal(err)
	}
	all := schema["definitions"].(object)
	for _, c := range []struct {
		definition, name, says string
		set                    bool
	}{
		{"operation.flags.kube-apiserver", "anonymous-auth", "1.31", true},
		{"operation.flags.kube-controller-manager", "cloud-provider", "1.3", true},
		{"operation.featureGates.kubelet", "KubeletInUserNamespace", "1.3", false},
		{"operation.featureGates.kube-scheduler", "VolumeAttributesClass", "1.34", false},
	} {
		definition, ok := all[c.definition].(object)
		if !ok {
			t.Fatalf("there is no %s", c.definition)
		}
		names := definition["properties"].(object)
		if c.set {
			names = names["set"].(object)["properties"].(object)
		}
		offered, ok := names[c.name].(object)
		if !ok || !strings.Contains(offered["description"].(string), c.says) {
			t.Errorf("%s offers %s as %v", c.definition, c.name, names[c.name])
		}
	}
	flags := all["operation.flags.kube-apiserver"].(object)["properties"].(object)["set"].(object)["properties"].(object)
	if _, ok := flags["feature-gates"]; ok {
		t.Error("feature-gates is offered as a flag")
	}
}
