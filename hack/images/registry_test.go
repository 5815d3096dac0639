// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// mustSucceed fails the test where one of several things went wrong.
func mustSucceed(t *testing.T, problems ...error) {
	t.Helper()
	if err := errors.Join(problems...); err != nil {
		t.Fatal(err)
	}
}

// TestRegistry copies an archive to a registry, where the documents are found by what they refer to.
func TestRegistry(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	o := sample(t)
	mustRun(t, o)
	top, named := manifests(t, open(t, filepath.Join(o.out, "program.tar")))
	repository, err := name.NewRepository(strings.TrimPrefix(server.URL, "http://") + "/graft/program")
	mustSucceed(t, err)
	index, err := top.ImageIndex(named[0].Digest)
	mustSucceed(t, err)
	mustSucceed(t, remote.WriteIndex(repository.Tag("v1.2.3"), index))
	for _, d := range named[1:] {
		artifact, err := top.Image(d.Digest)
		mustSucceed(t, err)
		mustSucceed(t, remote.Write(repository.Digest(d.Digest.String()), artifact))
	}
	pulled, err := remote.Index(repository.Tag("v1.2.3"))
	mustSucceed(t, err)
	manifest, err := pulled.IndexManifest()
	mustSucceed(t, err)
	for _, d := range manifest.Manifests {
		found, err := remote.Referrers(repository.Digest(d.Digest.String()))
		mustSucceed(t, err)
		about, err := found.IndexManifest()
		mustSucceed(t, err)
		if len(about.Manifests) != 1 {
			t.Errorf("%s: %d documents are about it", d.Platform, len(about.Manifests))
		}
	}
}

func TestChart(t *testing.T) {
	folder := t.TempDir()
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compressed)
	text := []byte("apiVersion: v2\nname: sample\nversion: 1.2.3+x\ndescription: a sample\n")
	mustSucceed(t, archive.WriteHeader(&tar.Header{Name: "sample/Chart.yaml", Mode: 0o644, Size: int64(len(text))}))
	_, err := archive.Write(text)
	mustSucceed(t, err, archive.Close(), compressed.Close(), os.WriteFile(filepath.Join(folder, "sample.tgz"), packed.Bytes(), 0o600))
	o := options{out: t.TempDir(), charts: folder, stdout: io.Discard, source: source{version: "v1.2.3", revision: "0123", time: commitTime}}
	mustSucceed(t, o.chartArtifacts())
	top, named := manifests(t, open(t, filepath.Join(o.out, "chart-sample.tar")))
	if len(named) != 1 || named[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.3_x" {
		t.Fatalf("the index names %+v", named)
	}
	artifact, err := top.Image(named[0].Digest)
	mustSucceed(t, err)
	manifest, err := artifact.Manifest()
	mustSucceed(t, err)
	if manifest.Config.MediaType != helmConfigType || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != helmContentType ||
		manifest.Layers[0].Digest != mustHash(t, packed.Bytes()) {
		t.Errorf("the manifest is %+v", manifest)
	}
	if o.charts = t.TempDir(); o.chartArtifacts() == nil {
		t.Error("no chart at all must be an error")
	}
}
