// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	ggcr "github.com/google/go-containerregistry/pkg/v1"
	ggcrlayout "github.com/google/go-containerregistry/pkg/v1/layout"
)

var commitTime = time.Unix(1_700_000_000, 0).UTC()

// sample are the options of an image of testdata/program, copied into a separate folder.
func sample(t *testing.T) options {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata/program")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "LICENSE"), []byte("anybody may do anything"), 0o600); err != nil {
		t.Fatal(err)
	}
	return options{
		root: root, out: t.TempDir(), platforms: []string{"linux/amd64", "linux/arm64"}, stdout: io.Discard,
		programs: []program{{name: "program", description: "a sample", packages: []string{"example.org/program"}, certificates: true}},
		source:   source{version: "v1.2.3", revision: "0123456789abcdef0123456789abcdef01234567", time: commitTime},
	}
}

func mustRun(t *testing.T, o options) {
	t.Helper()
	if err := run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
}

// contents are the files of an archive by name, with their headers.
func contents(t *testing.T, in io.Reader) (map[string][]byte, []*tar.Header) {
	t.Helper()
	files, headers := map[string][]byte{}, []*tar.Header(nil)
	for archive := tar.NewReader(in); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		headers = append(headers, header)
		if header.Typeflag == tar.TypeReg {
			if files[header.Name], err = io.ReadAll(archive); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// open unpacks an archive and reads it as a layout.
func open(t *testing.T, name string) ggcrlayout.Path {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	files, _ := contents(t, bytes.NewReader(data))
	folder := t.TempDir()
	for name, data := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	path, err := ggcrlayout.FromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// manifests are those that the index of a layout names.
func manifests(t *testing.T, path ggcrlayout.Path) (ggcr.ImageIndex, []ggcr.Descriptor) {
	t.Helper()
	index, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	return index, manifest.Manifests
}

// merged are the files of all layers of an image, and their heads.
func merged(t *testing.T, image ggcr.Image) (map[string][]byte, []*tar.Header) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	files, headers := map[string][]byte{}, []*tar.Header(nil)
	for _, layer := range layers {
		plain, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		below, heads := contents(t, plain)
		for name, data := range below {
			if _, ok := files[name]; ok {
				t.Errorf("%s is in two layers", name)
			}
			files[name] = data
		}
		headers = append(headers, heads...)
	}
	return files, headers
}

const executable fs.FileMode = 0o700
