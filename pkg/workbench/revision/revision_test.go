// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package revision_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/revision"
)

// repository makes a repository with two commits and changes that are not committed, and goes into it.
func repository(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	git := func(arguments ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com"}, arguments...)...)
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", arguments, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "--quiet", "--initial-branch=main")
	write("acme/profile.yaml", "first: {contentFrom: files/a.sh}\nimageVector: images.yaml\nkind: x\n")
	write("acme/files/a.sh", "one")
	write("acme/images.yaml", "images")
	write("acme/notes.txt", "none")
	write("acme/.hidden.yaml", "none")
	git("add", ".")
	git("commit", "--quiet", "-m", "first")
	write("acme/profile.yaml", "second: {}\nkind: x\n")
	write("acme/other.yml", "other: {}\n")
	git("add", ".")
	git("commit", "--quiet", "-m", "second")
	write("acme/profile.yaml", "third: {}\nkind: x\n")
	write("with:colon.yaml", "colon: {}\n")
}

func TestRead(t *testing.T) {
	repository(t)
	for _, c := range []struct {
		name, folder, argument string
		// want are the files with their beginnings and attachments.
		want []string
		// err is a part of the error.
		err string
	}{
		{name: "a file as it is", argument: "acme/profile.yaml", want: []string{"acme/profile.yaml third"}},
		{name: "a path that exists is a path", argument: "with:colon.yaml", want: []string{"with:colon.yaml colon"}},
		{name: "a revision", argument: "HEAD:acme/profile.yaml", want: []string{"HEAD:acme/profile.yaml second"}},
		{
			name: "an older one with what it names", argument: "HEAD~1:acme/profile.yaml",
			want: []string{"HEAD~1:acme/profile.yaml first files/a.sh=one images.yaml=images"},
		},
		{
			name: "a folder of a revision", argument: "main:acme",
			want: []string{"main:acme/profile.yaml second"},
		},
		{name: "attached files are not profiles", argument: "HEAD~1:acme/", want: []string{"HEAD~1:acme/profile.yaml first files/a.sh=one images.yaml=images"}},
		{name: "from a folder", folder: "acme", argument: "HEAD:./profile.yaml", want: []string{"HEAD:acme/profile.yaml second"}},
		{name: "from a folder, upwards", folder: "acme/files", argument: "HEAD:../profile.yaml", want: []string{"HEAD:acme/profile.yaml second"}},
		{name: "the folder itself", folder: "acme", argument: "HEAD~1:.", want: []string{"HEAD~1:acme/profile.yaml first files/a.sh=one images.yaml=images"}},
		{name: "a suggestion", folder: "acme", argument: "HEAD:profile.yaml", err: "did you mean HEAD:./profile.yaml?"},
		{name: "no such file", argument: "HEAD:acme/none.yaml", err: "revision HEAD has no acme/none.yaml"},
		{name: "no such revision", argument: "nowhere:acme/profile.yaml", err: "there is no revision nowhere"},
		{name: "an option", argument: "--all:acme/profile.yaml", err: "there is no revision --all"},
		{name: "outside", folder: "acme", argument: "HEAD:../../x.yaml", err: "outside of the repository"},
		{name: "no such path", argument: "acme/none.yaml", err: "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(filepath.Join(".", c.folder))
			files, err := revision.Read(t.Context(), c.argument)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got error %v, want %q in it", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, file := range files {
				first, _, _ := strings.Cut(string(file.Data), ":")
				text := file.Name + " " + first
				for _, name := range []string{"files/a.sh", "images.yaml"} {
					if data, ok := file.Attachments[name]; ok {
						text += " " + name + "=" + string(data)
					}
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadOutsideOfGit(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GIT_CEILING_DIRECTORIES", "/")
	_, err := revision.Read(t.Context(), "HEAD:profile.yaml")
	if !errors.Is(err, revision.ErrGit) || !strings.Contains(err.Error(), "outside of a git work tree") {
		t.Errorf("got error %v", err)
	}
}
