// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// TestModes tests that permissions are written as octal digits, as profiles have them, and other numbers as they are.
func TestModes(t *testing.T) {
	lines, err := render.Text([]byte(`{"kind":"K","spec":{"permissions":493,"defaultMode":288,"replicas":420,"mode":"Off",
		"volumes":[{"name":"a","secret":{"defaultMode":420}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range lines {
		got = append(got, line.Text)
	}
	want := []string{
		"kind: K", "spec:", "defaultMode: 0440", `mode: "Off"`, "permissions: 0755", "replicas: 420", "volumes:", "- {name: a, secret: {defaultMode: 0644}}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
