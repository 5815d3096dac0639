// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
	sigsyaml "sigs.k8s.io/yaml"

	gardencorev1 "github.com/gardener/gardener/pkg/apis/core/v1"
)

// TestApplyProfiles changes the profiles of a registration like kubectl apply: by a strategic merge patch of the last
// applied, the new and the live object.
func TestApplyProfiles(t *testing.T) {
	out := t.TempDir()
	if err := run(folder, "graft", out, ""); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(out, "controller-registration.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	with := func(profile string) []byte {
		for document := range strings.SplitSeq(string(data), "\n---\n") {
			if strings.Contains(document, "kind: ControllerDeployment") {
				text := strings.Replace(document, `profiles: ""`, "profiles: |\n      acme: |\n        "+profile, 1)
				written, err := sigsyaml.YAMLToJSON([]byte(text))
				if err != nil || text == document {
					t.Fatalf("the profiles are no text: %v", err)
				}
				return written
			}
		}
		t.Fatal("there is no ControllerDeployment")
		return nil
	}
	schema, err := strategicpatch.NewPatchMetaFromStruct(&gardencorev1.ControllerDeployment{})
	if err != nil {
		t.Fatal(err)
	}
	before := with("version: 1")
	patch, err := strategicpatch.CreateThreeWayMergePatch(before, with("version: 2"), before, schema, true)
	if err != nil || string(patch) != `{"helm":{"values":{"profiles":"acme: |\n  version: 2\n"}}}` {
		t.Errorf("the patch is %s (%v)", patch, err)
	}
}
