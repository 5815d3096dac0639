// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// file is one file of an archive, which root owns.
type file struct {
	data []byte
	mode int64
}

// newLayer returns a compressed layer with files by their paths.
func newLayer(at time.Time, files map[string]file) (v1.Layer, error) {
	var plain bytes.Buffer
	if err := writeTar(&plain, at, files); err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(plain.Bytes())), nil }
	return tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
}

// writeTar archives files by their paths, with the folders above them: sorted, owned by root, and all of the same time.
func writeTar(out io.Writer, at time.Time, files map[string]file) error {
	all := maps.Clone(files)
	for name := range files {
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			all[folder+"/"] = file{mode: 0o755}
		}
	}
	archive := tar.NewWriter(out)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		// A name that ends in a slash is a folder.
		header := &tar.Header{Name: name, Mode: all[name].mode, Size: int64(len(all[name].data)), ModTime: at, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(all[name].data); err != nil {
			return err
		}
	}
	return archive.Close()
}

// manifest is an OCI manifest with the type of an artifact, which v1.Manifest lacks.
type manifest struct {
	v1.Manifest
	ArtifactType string `json:"artifactType,omitempty"`
}

// artifact is a manifest with any configuration and one layer. It implements partial.CompressedImageCore.
type artifact struct {
	manifest         manifest
	config, document []byte
}

// newArtifact completes a manifest with a configuration in JSON and a document as its layer.
func newArtifact(m manifest, configType types.MediaType, config any, mediaType types.MediaType, document []byte) (v1.Image, error) {
	data, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	ofConfig, err := describe(static.NewLayer(data, configType))
	if err != nil {
		return nil, err
	}
	ofLayer, err := describe(static.NewLayer(document, mediaType))
	if err != nil {
		return nil, err
	}
	m.SchemaVersion, m.MediaType, m.Config, m.Layers = 2, types.OCIManifestSchema1, *ofConfig, []v1.Descriptor{*ofLayer}
	return partial.CompressedToImage(&artifact{m, data, document})
}

// MediaType returns the type of the manifest.
func (a *artifact) MediaType() (types.MediaType, error) { return a.manifest.MediaType, nil }

// RawManifest returns the manifest.
func (a *artifact) RawManifest() ([]byte, error) { return json.Marshal(a.manifest) }

// RawConfigFile returns the configuration.
func (a *artifact) RawConfigFile() ([]byte, error) { return a.config, nil }

// LayerByDigest returns the document.
func (a *artifact) LayerByDigest(v1.Hash) (partial.CompressedLayer, error) {
	return static.NewLayer(a.document, a.manifest.Layers[0].MediaType), nil
}

// Descriptor returns the descriptor with the type of the artifact.
func (a *artifact) Descriptor() (*v1.Descriptor, error) {
	data, err := a.RawManifest()
	if err != nil {
		return nil, err
	}
	d, err := describe(static.NewLayer(data, a.manifest.MediaType))
	if err == nil {
		d.ArtifactType = a.manifest.ArtifactType
	}
	return d, err
}

// describe returns media type, digest and size.
func describe(of partial.Describable) (*v1.Descriptor, error) {
	d, err := partial.Descriptor(of)
	if err != nil {
		return nil, err
	}
	return &v1.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}, nil
}

// published is an image or artifact with its place in the registry.
type published struct {
	artifact interface {
		mutate.Appendable
		remote.Taggable
	}
	referrers []v1.Image
	// path is the repository below the registry, and file the name of the archive.
	path, tag, file string
}

// publish writes the archive of a layout, prints the digest, and copies all to the registry if one is configured.
func (p published) publish(ctx context.Context, o options) error {
	named := v1.Descriptor{Annotations: map[string]string{"org.opencontainers.image.ref.name": p.tag}}
	top := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: p.artifact, Descriptor: named})
	for _, referrer := range p.referrers {
		top = mutate.AppendManifests(top, mutate.IndexAddendum{Add: referrer})
	}
	archive := filepath.Join(o.out, p.file)
	if err := writeLayout(archive, top, o.source.time); err != nil {
		return fmt.Errorf("writing %s: %w", archive, err)
	}
	digest, err := p.artifact.Digest()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(o.stdout, "%s:%s@%s %s\n", p.path, p.tag, digest, archive); err != nil || o.push == "" {
		return err
	}
	repository, err := name.NewRepository(o.push + "/" + p.path)
	if err != nil {
		return fmt.Errorf("-push: %w", err)
	}
	if err := p.push(ctx, repository, digest); err != nil {
		return fmt.Errorf("copying to %s: %w", repository, err)
	}
	_, err = fmt.Fprintf(o.stdout, "    copied to %s:%s\n", repository, p.tag)
	return err
}

// push copies the artifact and its referrers to a repository, and the tag last. It uses the credentials that docker or podman have stored.
func (p published) push(ctx context.Context, repository name.Repository, digest v1.Hash) error {
	with := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if err := remote.Push(repository.Digest(digest.String()), p.artifact, with...); err != nil {
		return err
	}
	for _, referrer := range p.referrers {
		digest, err := referrer.Digest()
		if err != nil {
			return err
		}
		if err := remote.Write(repository.Digest(digest.String()), referrer, with...); err != nil {
			return err
		}
	}
	return remote.Tag(repository.Tag(p.tag), p.artifact, with...)
}

// writeLayout writes a layout as a reproducible tar archive. It renames the file when it is complete.
func writeLayout(name string, top v1.ImageIndex, at time.Time) error {
	folder, err := os.MkdirTemp(filepath.Dir(name), ".image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	inside := filepath.Join(folder, "layout")
	if _, err := layout.Write(inside, top); err != nil {
		return err
	}
	files, root := map[string]file{}, os.DirFS(inside)
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		files[name] = file{data, 0o644}
		return err
	})
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(folder, "tar"))
	if err != nil {
		return err
	}
	if err := errors.Join(writeTar(out, at, files), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), name)
}
