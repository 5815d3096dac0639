// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

const sound = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: acme}
providers: [acme]
controlplane:
  kube-controller-manager:
  - env: {set: {A: a}}
`

// TestRead checks which files are read: in folders those of Graft, and all named files.
func TestRead(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write("a/profile.yaml", sound+"imageVector: images.yaml\n")
	write("a/images.yaml", "images: []\n")
	write("a/read.me", "nothing of Graft\n")
	write("a/.hidden/profile.yaml", "kind: [\n")
	write("a/.profile.yaml", "kind: [\n")
	write("a/notes.txt", sound)
	write("b/broken.yml", "# graft.provider.extensions.gardener.cloud/v1alpha1\nkind: [\n")
	write("b/other-broken.yaml", "kind: [\n") // other commands read it with the profile beside it
	write("d/broken.yaml", "{{ template }}\nkind: [\n")
	mixed := write("c/mixed.yaml", "apiVersion: v1\nkind: Namespace\n---\n"+strings.Replace(sound, "ProviderProfile", "StorageProfile", 1))
	other := write("c/other.yaml", "apiVersion: v1\nkind: Namespace\n")

	tests := []struct {
		name  string
		paths []string
		files int
		want  []string
		left  string
	}{
		{"a folder", []string{folder}, 4, []string{
			"b/broken.yml:2: not YAML: did not find expected node content",
			"b/other-broken.yaml:1: not YAML: did not find expected node content",
			`c/mixed.yaml:5:7: kind: unknown kind "StorageProfile": must be one of ProviderProfile, NetworkProfile, InterpreterProfile, ProviderProfileTest, InterpreterProfileTest, ControllerConfiguration, NetworkProviderConfiguration, ResourceInterpreterConfiguration`,
		}, "left out: c/other.yaml, d/broken.yaml (no document of Graft)"},
		{"files named on the command line", []string{other, mixed, mixed}, 2, []string{
			`c/mixed.yaml:2:7: kind: Namespace of v1 is not a document of Graft; its kinds are ProviderProfile, NetworkProfile, InterpreterProfile, ProviderProfileTest, InterpreterProfileTest, ControllerConfiguration, NetworkProviderConfiguration, ResourceInterpreterConfiguration; other documents in folders are ignored`,
			`c/mixed.yaml:5:7: kind: unknown kind "StorageProfile": must be one of ProviderProfile, NetworkProfile, InterpreterProfile, ProviderProfileTest, InterpreterProfileTest, ControllerConfiguration, NetworkProviderConfiguration, ResourceInterpreterConfiguration`,
			`c/other.yaml:2:7: kind: Namespace of v1 is not a document of Graft; its kinds are ProviderProfile, NetworkProfile, InterpreterProfile, ProviderProfileTest, InterpreterProfileTest, ControllerConfiguration, NetworkProviderConfiguration, ResourceInterpreterConfiguration; other documents in folders are ignored`,
		}, ""},
		{"the standard input", []string{"-", "-"}, 1, []string{"stdin: no document in this file"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inputs, err := Read(test.paths, strings.NewReader("# nothing\n"))
			if err != nil {
				t.Fatal(err)
			}
			report := Run(Options{}, inputs)
			got := strings.Split(strings.ReplaceAll(report.Findings.Error(), folder+string(filepath.Separator), ""), "\n")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if left := strings.ReplaceAll(report.Left(), folder+string(filepath.Separator), ""); left != test.left {
				t.Errorf("unexpected list of skipped files: %q", left)
			}
			if report.Files != test.files {
				t.Errorf("%d files were looked at, want %d", report.Files, test.files)
			}
		})
	}
	if _, err := Read([]string{filepath.Join(folder, "none")}, nil); err == nil || !strings.Contains(err.Error(), "none: no such file") {
		t.Errorf("want an error for a missing path, got %v", err)
	}
}

// TestReadRefuses checks that files outside of a folder are never read, and the resulting findings.
func TestReadRefuses(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, "in", name) }
	text := strings.Replace(sound, "kube-controller-manager:\n  - env: {set: {A: a}}", "node:\n  - file: {path: /etc/a, contentFrom: token}", 1)
	if err := errors.Join(os.MkdirAll(at("deep"), 0o755), os.WriteFile(filepath.Join(base, "token"), []byte("secret"), 0o600),
		os.WriteFile(at("profile.yaml"), []byte(text), 0o600), os.Symlink("../token", at("token")), syscall.Mkfifo(at("pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{at(""), at("profile.yaml")} {
		inputs, err := Read([]string{path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		report := Run(Options{}, inputs)
		want := "contentFrom: read " + at("token") + ": it is or contains a link that leads out of the folder"
		if len(report.Findings) != 1 || report.Findings[0].Rule != source.MissingFile || !strings.Contains(report.Findings.Error(), want) {
			t.Errorf("%s: %v", path, report.Findings)
		}
	}
	for name, test := range map[string]struct{ target, want string }{
		"outside.yaml": {"../../token", "leads out of the folder"}, "zero.yaml": {"/dev/zero", "leads out of the folder"},
		"pipe.yaml": {"../pipe", "it is a pipe"}, "loop.yaml": {"loop.yaml", "too many levels of symbolic links"},
	} {
		link := at(filepath.Join("deep", name))
		if err := os.Symlink(test.target, link); err != nil {
			t.Fatal(err)
		}
		if _, err := Read([]string{at("")}, nil); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), link) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTogether checks that profiles in several files are compared if they are active together.
func TestTogether(t *testing.T) {
	one := Input{}
	one.Name, one.Data = "one.yaml", []byte(sound)
	other := Input{}
	other.Name, other.Data = "other.yaml", []byte(strings.NewReplacer("name: acme", "name: other", "A: a", "A: b").Replace(sound))
	if report := Run(Options{}, []Input{one, other}); len(report.Findings) > 0 {
		t.Errorf("apart: %v", report.Findings)
	}
	report := Run(Options{Together: true}, []Input{one, other})
	if len(report.Findings) != 1 || report.Findings[0].Rule != "conflict" {
		t.Errorf("together: %v", report.Findings)
	}
}

// BenchmarkRun checks the profiles of all clouds.
func BenchmarkRun(b *testing.B) {
	inputs, err := Read(cases(b, filepath.Join(root, "example", "profiles", "*", "profile.yaml")), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if report := Run(Options{}, inputs); report.Failed(0) || report.Documents < 9 {
			b.Fatal(report.Findings, report.Documents)
		}
	}
}
