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
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// mustSucceed fails the test if any of the errors is not nil.
func mustSucceed(t *testing.T, problems ...error) {
	t.Helper()
	if err := errors.Join(problems...); err != nil {
		t.Fatal(err)
	}
}

// newRegistry returns a registry in memory with support for referrers.
func newRegistry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://") + "/graft"
}

// TestRegistry copies an image to a registry, compares it with the archive, and finds its documents as referrers.
func TestRegistry(t *testing.T) {
	o := sample(t)
	o.push = newRegistry(t)
	mustRun(t, o)
	_, named := manifests(t, open(t, filepath.Join(o.out, "program.tar")))
	repository, err := name.NewRepository(o.push + "/program")
	mustSucceed(t, err)
	pulled, err := remote.Index(repository.Tag("v1.2.3"))
	mustSucceed(t, err)
	mustSucceed(t, validate.Index(pulled))
	if digest, err := pulled.Digest(); err != nil || digest != named[0].Digest {
		t.Errorf("the registry has %s, the archive %s (%v)", digest, named[0].Digest, err)
	}
	manifest, err := pulled.IndexManifest()
	mustSucceed(t, err)
	for _, d := range manifest.Manifests {
		found, err := remote.Referrers(repository.Digest(d.Digest.String()))
		mustSucceed(t, err)
		about, err := found.IndexManifest()
		mustSucceed(t, err)
		if len(about.Manifests) != 1 {
			t.Fatalf("%s: want one referrer, got %+v", d.Platform, about.Manifests)
		}
		document, err := remote.Get(repository.Digest(about.Manifests[0].Digest.String()))
		mustSucceed(t, err)
		if !strings.Contains(string(document.Manifest), `"artifactType":"`+spdxType+`"`) {
			t.Errorf("%s: want a referrer with the SPDX type, got %s", d.Platform, document.Manifest)
		}
	}
}

// TestNoRegistry checks that an unreachable registry is an error.
func TestNoRegistry(t *testing.T) {
	o := sample(t)
	o.push = "127.0.0.1:1/graft"
	if err := run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "copying to 127.0.0.1:1/graft/program") {
		t.Errorf("got %v", err)
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
	o := options{out: t.TempDir(), charts: folder, push: newRegistry(t), stdout: io.Discard, source: source{version: "v1.2.3", revision: "0123", time: commitTime}}
	mustSucceed(t, o.chartArtifacts(t.Context()))
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
	// gardenlet and gardener-operator look for the layer of this type.
	reference, err := name.ParseReference(o.push + "/charts/sample:1.2.3_x")
	mustSucceed(t, err)
	pulled, err := remote.Image(reference)
	mustSucceed(t, err)
	layers, err := pulled.Layers()
	mustSucceed(t, err)
	if kind, err := layers[0].MediaType(); err != nil || kind != helmContentType {
		t.Errorf("the registry has a layer of the type %s (%v)", kind, err)
	}
	if o.charts = t.TempDir(); o.chartArtifacts(t.Context()) == nil {
		t.Error("no chart at all must be an error")
	}
}
