// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package folder_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
)

// naming is a profile that takes the content of a file.
func naming(path string) []byte {
	return fmt.Appendf(nil, `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: acme}
providers: [acme]
controlplane:
  node:
  - file: {path: /etc/acme.conf, contentFrom: %s}
`, path)
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestAttachRefuses checks that an attachment must be a regular file of the profile's folder, and the error otherwise.
func TestAttachRefuses(t *testing.T) {
	base := t.TempDir()
	in := filepath.Join(base, "in")
	must(t, os.MkdirAll(filepath.Join(in, "files"), 0o755), os.WriteFile(filepath.Join(base, "token"), []byte("secret"), 0o600),
		os.WriteFile(filepath.Join(in, "files", "real"), []byte("real"), 0o600),
		os.Symlink("../files/real", filepath.Join(in, "files", "inside")),
		os.Symlink("../../token", filepath.Join(in, "files", "token")), os.Symlink("/dev/zero", filepath.Join(in, "files", "zero")),
		os.Symlink("loop", filepath.Join(in, "files", "loop")), syscall.Mkfifo(filepath.Join(in, "files", "pipe"), 0o600),
		os.WriteFile(filepath.Join(in, "files", "large"), make([]byte, disk.DocumentSize+1), 0o600))
	for name, want := range map[string]string{
		"real": "", "inside": "", "token": "leads out of the folder", "zero": "leads out of the folder", "loop": "too many levels of symbolic links",
		"pipe": "it is a pipe", "large": "it is too large",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(in, "profile.yaml")
			must(t, os.WriteFile(path, naming("files/"+name), 0o600))
			for _, named := range []string{in, path} {
				files, err := folder.Read(named)
				must(t, err)
				got, why := string(files[0].Attachments["files/"+name]), files[0].Refused["files/"+name]
				if want == "" && (got != "real" || why != "") {
					t.Errorf("got %q, %s", got, why)
				}
				if want != "" && (got != "" || !strings.Contains(why, want) || !strings.Contains(why, filepath.Join(in, "files", name))) {
					t.Errorf("got %d bytes and %q, want %q", len(got), why, want)
				}
			}
		})
	}
}

// TestReadRefuses checks that other kinds of files in a folder are reported, and that the remaining files are read.
func TestReadRefuses(t *testing.T) {
	base := t.TempDir()
	in := filepath.Join(base, "in")
	must(t, os.Mkdir(in, 0o755), os.WriteFile(filepath.Join(base, "outside.yaml"), naming("a"), 0o600),
		os.WriteFile(filepath.Join(in, "good.yaml"), naming("a"), 0o600), os.Symlink("good.yaml", filepath.Join(in, "link.yaml")),
		os.Symlink("../outside.yaml", filepath.Join(in, "outside.yaml")), os.Symlink("/dev/zero", filepath.Join(in, "zero.yaml")),
		syscall.Mkfifo(filepath.Join(in, "pipe.yaml"), 0o600))
	files, err := folder.Read(in)
	must(t, err)
	refused := map[string]string{"outside.yaml": "leads out of the folder", "zero.yaml": "leads out of the folder", "pipe.yaml": "it is a pipe"}
	if len(files) != 5 {
		t.Errorf("read %d files", len(files))
	}
	for _, file := range files {
		why := refused[filepath.Base(file.Name)]
		if (why == "") != (file.Problem == "") || !strings.Contains(file.Problem, why) || (why == "") != (len(file.Data) > 0) {
			t.Errorf("%s: %d bytes, problem %q", file.Name, len(file.Data), file.Problem)
		}
	}
	if _, err := folder.Read(filepath.Join(in, "pipe.yaml")); !errors.Is(err, disk.ErrNotRegular) {
		t.Errorf("a pipe that a configuration names: %v", err)
	}
	if files, err := folder.Read(filepath.Join(in, "outside.yaml")); err != nil || len(files) != 1 || files[0].Problem != "" {
		t.Errorf("a link that a configuration names: %v, %v", files, err)
	}
}

// TestReadMounted checks that a mounted ConfigMap is read as the kubelet writes it, and as one version during a
// replacement.
func TestReadMounted(t *testing.T) {
	in := t.TempDir()
	write := func(version int) {
		inside := fmt.Sprintf("..version_%d", version)
		at := func(name string) string { return filepath.Join(in, inside, name) }
		err := errors.Join(os.Mkdir(filepath.Join(in, inside), 0o755), os.WriteFile(at("files_a"), fmt.Append(nil, version), 0o600),
			os.WriteFile(at("profile.yaml"), append(naming("files_a"), fmt.Sprintf("# %d", version)...), 0o600),
			os.Symlink(inside, filepath.Join(in, "..data_tmp")), os.Rename(filepath.Join(in, "..data_tmp"), filepath.Join(in, "..data")))
		if version > 0 {
			err = errors.Join(err, os.RemoveAll(filepath.Join(in, fmt.Sprintf("..version_%d", version-1))))
		}
		if err != nil {
			t.Error(err)
		}
	}
	write(0)
	must(t, os.Symlink("..data/profile.yaml", filepath.Join(in, "profile.yaml")), os.Symlink("..data/files_a", filepath.Join(in, "files_a")))
	for version := 1; version < 300; version++ {
		written := make(chan struct{})
		go func() {
			defer close(written)
			write(version)
		}()
		for _, path := range []string{in, filepath.Join(in, "profile.yaml"), in} {
			files, err := folder.Read(path)
			if err != nil || len(files) != 1 || files[0].Problem != "" || len(files[0].Refused) > 0 {
				t.Errorf("read %+v, %v", files, err)
				continue
			}
			last := string(files[0].Attachments["files_a"])
			if last == "" || !strings.HasSuffix(string(files[0].Data), "# "+last) {
				t.Errorf("the profile of one version with %q of another:\n%s", last, files[0].Data)
			}
		}
		<-written
	}
	if files, err := folder.Read(in); err != nil || string(files[0].Attachments["files_a"]) != "299" {
		t.Errorf("read %v, %v in the end", files, err)
	}
}

// TestReadNamed checks that a pipe is read if it is named.
func TestReadNamed(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(pipe, naming("a"), 0o600) }()
	files, err := folder.ReadNamed(pipe)
	must(t, err, <-wrote)
	if len(files) != 1 || !bytes.Equal(files[0].Data, naming("a")) {
		t.Errorf("read %+v", files)
	}
}
