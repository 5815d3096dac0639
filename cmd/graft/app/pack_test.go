// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/artifact"
)

// packs runs graft pack.
func packs(arguments ...string) (out, problems string, status int) {
	var stdout, stderr bytes.Buffer
	status = Main("test", append([]string{"pack"}, arguments...), &Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return stdout.String(), stderr.String(), status
}

// TestPack checks that the printed digest is the digest of the image in the file, and that equal profiles give equal
// digests.
func TestPack(t *testing.T) {
	var digests []string
	for _, name := range []string{"a.tar", "b.tar"} {
		file := filepath.Join(t.TempDir(), name)
		out, problems, status := packs("../../../example/profiles/openstack/profile.yaml", "--output-file", file, "--tag", "v1.2.3")
		if status != 0 || !strings.Contains(problems, "packed 3 files into "+file) {
			t.Fatalf("status %d: %s", status, problems)
		}
		digest := strings.TrimSpace(out)
		digests = append(digests, digest)
		if index := entry(t, file, "index.json"); !strings.Contains(index, digest) || !strings.Contains(index, `"org.opencontainers.image.ref.name":"v1.2.3"`) {
			t.Errorf("the index has the digest %s, want %s", index, digest)
		}
	}
	if digests[0] != digests[1] || !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(digests[0]) {
		t.Errorf("the digests are %q", digests)
	}
}

// TestPackFolder checks that the example folder can be packed, although its objects and tests are in subfolders.
func TestPackFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.tar")
	if _, problems, status := packs("../../../example/interpreter", "--output-file", file); status != 0 || !strings.Contains(problems, "packed 1 file into "+file) {
		t.Errorf("status %d: %s", status, problems)
	}
}

// TestPackSameNames checks that profiles with files of the same name are packed together under different names.
func TestPackSameNames(t *testing.T) {
	file, unpacked := filepath.Join(t.TempDir(), "a.tar"), t.TempDir()
	const profiles = "../../../example/profiles/"
	if _, problems, status := packs(profiles+"aws/profile.yaml", profiles+"azure/profile.yaml", "--output-file", file); status != 0 {
		t.Fatalf("status %d: %s", status, problems)
	}
	read, err := folder.Read(profiles+"aws/profile.yaml", profiles+"azure/profile.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files, err := artifact.Collect(artifact.Distinct(read))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		path := filepath.Join(unpacked, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	again, err := folder.Read(unpacked)
	if err != nil || len(again) != 2 {
		t.Fatalf("%d profiles are read from the image: %v", len(again), err)
	}
	for i, name := range []string{"aws", "azure"} {
		vector := string(again[i].Attachments[name+"-images.yaml"])
		if want := string(read[i].Attachments["images.yaml"]); vector != want {
			t.Errorf("the image vector of %s is\n%s\nwant\n%s", name, vector, want)
		}
	}
}

// TestPackFolders tests that the folder of each example can be packed.
func TestPackFolders(t *testing.T) {
	folders, err := filepath.Glob("../../../example/profiles/*/profile.yaml")
	if err != nil || len(folders) != 9 {
		t.Fatalf("%d folders: %v", len(folders), err)
	}
	for _, path := range folders {
		for _, form := range []string{"oci", "configmap", "values"} {
			t.Run(filepath.Base(filepath.Dir(path))+" "+form, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "out")
				if _, problems, status := packs(filepath.Dir(path), "-o", form, "--output-file", file); status != 0 {
					t.Errorf("status %d: %s", status, problems)
				}
			})
		}
	}
}

// TestPackForms checks the ConfigMap and the Helm values of a profile with a file next to it.
func TestPackForms(t *testing.T) {
	const profile = "../../../example/profiles/ironcore/profile.yaml"
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	images, err := os.ReadFile(filepath.Join(filepath.Dir(profile), "images.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]any{"profile.yaml": string(text), "images.yaml": string(images)}
	for form, want := range map[string]map[string]any{
		"configmap": {
			"apiVersion": "v1", "kind": "ConfigMap", "data": files,
			"metadata": map[string]any{"name": "graft-profile-ironcore", "labels": map[string]any{"graft.provider.extensions.gardener.cloud/profile": "true"}},
		},
		"values": {"profiles": map[string]any{"ironcore": files}},
	} {
		out, problems, status := packs(profile, "-o", form)
		var got map[string]any
		if err := yaml.Unmarshal([]byte(out), &got); err != nil || status != 0 {
			t.Fatalf("%s: status %d: %v%s", form, status, err, problems)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", form, diff)
		}
	}
	if out, problems, status := packs("../../../example/network/acme.yaml", "-o", "configmap"); status != 0 || !strings.Contains(out, "name: graft-network-profiles") {
		t.Errorf("a NetworkProfile: status %d: %s%s", status, problems, out)
	}
}

// entry is a file in an archive.
func entry(t *testing.T, archive, name string) string {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for in := tar.NewReader(file); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("there is no %s", name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Name == name {
			data, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
	}
}

// TestPackRefuses checks which profiles are rejected, and that no file is written then.
func TestPackRefuses(t *testing.T) {
	const profiles = "../../../example/profiles/"
	empty := t.TempDir()
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	if err := os.WriteFile(wrong, []byte("apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\n"+
		"metadata: {name: w}\nproviders: [w]\ncontrolplane: {kube-apiserver: [{flags: {set: {advertise-address: x}}}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		arguments []string
		status    int
		want      string
	}{
		"refuses to run without arguments":  {nil, statusFailed, "give the files or folders with the profiles"},
		"refuses a folder without profiles": {[]string{empty}, statusFailed, "no profile was found in " + empty},
		"a folder that is not there":        {[]string{empty + "/none"}, statusFailed, "no such file or directory"},
		"a tag with a slash":                {[]string{profiles + "openstack/profile.yaml", "--tag", "a/b"}, statusFailed, `--tag "a/b"`},
		"a wrong profile":                   {[]string{wrong}, statusFound, "contract-forbidden"},
		"profiles of two programs": {[]string{"../../../example/network/acme.yaml", "../../../example/interpreter/profile.yaml"}, statusFound,
			"example/interpreter/profile.yaml:8:7: kind: InterpreterProfile cannot be in an image with the NetworkProfile at " +
				"../../../example/network/acme.yaml:7:7: different programs"},
		"refuses a configuration": {[]string{"../../../hack/systemd/network-provider.yaml"}, statusFound,
			"network-provider.yaml:7:7: kind: NetworkProviderConfiguration is not a profile"},
		"refuses a folder with tests": {[]string{"../../../example/interpreter/tests"}, statusFailed, "no profile was found in"},
		"refuses a file with tests": {[]string{"../../../example/interpreter/tests/database.yaml"}, statusFound,
			"database.yaml:7:7: kind: InterpreterProfileTest is not a profile"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.tar")
			out, problems, status := packs(append([]string{"--output-file", file}, test.arguments...)...)
			if status != test.status || out != "" || !strings.Contains(problems, test.want) {
				t.Errorf("status %d: %s%s", status, out, problems)
			}
			if _, err := os.Stat(file); err == nil {
				t.Error("a file was written, want none")
			}
		})
	}
	if _, problems, status := packs(profiles + "openstack/profile.yaml"); status != statusFailed || !strings.Contains(problems, "--output-file") {
		t.Errorf("without a file: status %d: %s", status, problems)
	}
}

// TestPackLink checks that an image contains no file from outside of the profile's folder.
func TestPackLink(t *testing.T) {
	base := t.TempDir()
	folder := filepath.Join(base, "in")
	token, link := filepath.Join(base, "token"), filepath.Join(folder, "token")
	text := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\nmetadata: {name: acme}\nproviders: [acme]\n" +
		"controlplane:\n  node:\n  - file: {path: /etc/a, contentFrom: token}\n"
	if err := errors.Join(os.Mkdir(folder, 0o755), os.WriteFile(token, []byte("secret"), 0o600), os.Symlink("../token", link),
		os.WriteFile(filepath.Join(folder, "profile.yaml"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(base, "a.tar")
	out, problems, status := packs(folder, "--output-file", file)
	if status != statusFound || out != "" || !strings.Contains(problems, link+": it is or contains a link that leads out of the folder") {
		t.Errorf("status %d: %s%s", status, out, problems)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was written, want none")
	}
	if err := errors.Join(os.Remove(link), os.WriteFile(filepath.Join(folder, "real"), []byte("ours"), 0o600), os.Symlink("real", link)); err != nil {
		t.Fatal(err)
	}
	if _, problems, status := packs(folder, "--output-file", file); status != 0 || !strings.Contains(problems, "packed 2 files") {
		t.Errorf("a link that stays inside: status %d: %s", status, problems)
	}
}
