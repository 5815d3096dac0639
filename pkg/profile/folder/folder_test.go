// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package folder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
)

const profile = "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\nimageVector: images.yaml\n"

// TestFilesThatAreNoProfiles checks which files of a folder are profiles, and that a named file is always read.
func TestFilesThatAreNoProfiles(t *testing.T) {
	in := t.TempDir()
	for name, text := range map[string]string{
		"profile.yaml": profile, "images.yaml": "images: []\n", "table.yaml": "# x\nrows:\n- {a: b}\n", "list.yml": "- a\n",
		"slip.yaml": "apiversion: x\nkind: ProviderProfil\n", "json.yaml": `{"metadata": {}, "kind": "x"}`, "empty.yaml": "", "begun.yaml": "# SPDX\n", "broken.yaml": "a: [",
		"config-map.yaml": "apiVersion: v1\nkind: ConfigMap\n---\napiVersion: apps/v1\nkind: Deployment\n",
		"tests.yaml":      "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfileTest\n",
		"wrapped.yaml":    "apiVersion: v1\nkind: ConfigMap\ndata:\n  profile.yaml: |\n    " + strings.ReplaceAll(profile, "\n", "\n    "),
		"mixed.yaml":      "apiVersion: v1\nkind: ConfigMap\n---\napiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\n",
		"group.yaml":      "apiVersion: gaft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfil\n",
		"kind.yaml":       "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: Other\n",
	} {
		if err := os.WriteFile(filepath.Join(in, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := folder.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	var read []string
	for _, file := range files {
		read = append(read, filepath.Base(file.Name))
	}
	if diff := cmp.Diff([]string{
		"begun.yaml", "broken.yaml", "empty.yaml", "group.yaml", "json.yaml", "kind.yaml", "mixed.yaml", "profile.yaml", "slip.yaml", "wrapped.yaml",
	}, read); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	left, err := folder.Ignored(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		filepath.Join(in, "config-map.yaml"), filepath.Join(in, "list.yml"), filepath.Join(in, "table.yaml"), filepath.Join(in, "tests.yaml"),
	}, left); diff != "" {
		t.Errorf("left alone (-want +got):\n%s", diff)
	}
	named, err := folder.Read(filepath.Join(in, "table.yaml"))
	if err != nil || len(named) != 1 {
		t.Errorf("a file that is named: %v, %v", named, err)
	}
}

// TestPathsWithoutDocuments checks which paths have no documents.
func TestPathsWithoutDocuments(t *testing.T) {
	paths := []string{"/a", "/b/", "/c/x.yaml", "./d", "e.yaml", "f"}
	got := folder.Empty(paths, []string{"/b/x.yaml", "/c/x.yaml", "d/y.yml", "f/deeper/z.yaml"})
	if diff := cmp.Diff([]string{"/a", "e.yaml", "f"}, got); diff != "" {
		t.Errorf("empty (-want +got):\n%s", diff)
	}
}
