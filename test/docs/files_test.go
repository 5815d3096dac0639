// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/app"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
)

// fromFile matches kubectl's argument for a file of a ConfigMap, with or without a key.
var fromFile = regexp.MustCompile(`--from-file=(?:([^=\s]+)=)?(\S+)`)

// TestProfileWithFiles follows docs/usage/installation.md with a profile that names files: the extension can load the
// ConfigMap of the page's command, the values have the same keys, and the image has the same files.
func TestProfileWithFiles(t *testing.T) {
	page := read(t, "docs/usage/installation.md")
	examples, err := filepath.Abs(filepath.Join(root, "example"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(examples, "example"); err != nil {
		t.Fatal(err)
	}
	for _, begin := range []string{"cp -r ", "sed -i "} {
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", line(t, page, begin)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}

	data := map[string]string{}
	for _, file := range fromFile.FindAllStringSubmatch(line(t, page, "kubectl create configmap "), -1) {
		text, err := os.ReadFile(file[2])
		if err != nil {
			t.Fatal(err)
		}
		key := file[1]
		if key == "" {
			key = filepath.Base(file[2])
		}
		data[key] = string(text)
	}
	label, value, _ := strings.Cut(regexp.MustCompile(`\S+/profile=\S+`).FindString(line(t, page,
		"kubectl label configmap ")), "=")
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "acme", Namespace: "graft", Labels: map[string]string{label: value}}, Data: data,
	}
	client := fake.NewClientBuilder().WithObjects(configMap).Build()
	files, err := webhook.ConfigMaps{Reader: client, Namespace: "graft"}.Read(t.Context())
	if err != nil || len(files) != 1 {
		t.Fatalf("the ConfigMap has %d profiles (%v)", len(files), err)
	}
	documents, findings := profile.Load(files...)
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := compiler.Compile(documents, compiler.Options{}); err != nil {
		t.Error(err)
	}
	inFolder, err := folder.Read("acme")
	if err != nil || len(inFolder) != 1 {
		t.Fatalf("the folder has %d profiles (%v)", len(inFolder), err)
	}
	if diff := cmp.Diff(inFolder[0].Attachments, files[0].Attachments); diff != "" || len(files[0].Attachments) != 2 {
		t.Errorf("files beside the profile in the folder and in the ConfigMap (-folder +ConfigMap):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(data)), valueKeys(t, page)); diff != "" {
		t.Errorf("keys of the ConfigMap and of the values (-ConfigMap +values):\n%s", diff)
	}
	graft(t, page, "graft pack ")
	if diff := cmp.Diff(data, packedValues(t, page)); diff != "" {
		t.Errorf("the ConfigMap and the packed values (-ConfigMap +values):\n%s", diff)
	}
}

// packedValues returns the keys of the profile acme in the values that graft pack writes.
func packedValues(t *testing.T, page string) map[string]string {
	t.Helper()
	const command = "graft pack acme -o values"
	if !strings.Contains(strings.Join(strings.Fields(page), " "), "`"+command+"`") {
		t.Errorf("the page has no %s", command)
	}
	var out, problems bytes.Buffer
	arguments := strings.Fields(command)[1:]
	if status := app.Main("test", arguments,
		&app.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}); status != 0 {
		t.Fatalf("%s: %d: %s", command, status, &problems)
	}
	var values struct {
		Profiles map[string]map[string]string
	}
	if err := yaml.Unmarshal(out.Bytes(), &values); err != nil {
		t.Fatal(err)
	}
	return values.Profiles["acme"]
}

// valueKeys are the keys of the profile acme in the values on a page.
func valueKeys(t *testing.T, page string) []string {
	t.Helper()
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1) {
		var values struct {
			Profiles map[string]map[string]string
		}
		if err := yaml.Unmarshal([]byte(block[1]), &values); err == nil && len(values.Profiles["acme"]) > 0 {
			return slices.Sorted(maps.Keys(values.Profiles["acme"]))
		}
	}
	t.Fatal("the page has no values with a profile of several files")
	return nil
}

// line is the command of a page that begins so.
func line(t *testing.T, page, begin string) string {
	t.Helper()
	_, rest, found := strings.Cut(strings.ReplaceAll(page, "\\\n", ""), "\n$ "+begin)
	if !found {
		t.Fatalf("the page has no command %q", begin)
	}
	rest, _, _ = strings.Cut(rest, "\n")
	return begin + rest
}

// graft runs the command of a page that begins so.
func graft(t *testing.T, page, begin string) {
	t.Helper()
	var out bytes.Buffer
	arguments := strings.Fields(line(t, page, begin))[1:]
	if status := app.Main("test", arguments, &app.Streams{In: strings.NewReader(""), Out: &out, Err: &out}); status != 0 {
		t.Fatalf("%s: %d: %s", begin, status, &out)
	}
}
