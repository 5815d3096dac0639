// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// publish copies a layout to the registry, if one is configured: blobs, then manifests, and tags last. It uses the credentials that docker or
// podman have stored.
func (o options) publish(ctx context.Context, l *layout, path string) error {
	if o.push == "" {
		return nil
	}
	repository, err := name.NewRepository(o.push + "/" + path)
	if err != nil {
		return fmt.Errorf("-push: %w", err)
	}
	with := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	for _, d := range l.order {
		if err := l.copy(repository, d, with); err != nil {
			return fmt.Errorf("copying to %s: %w", repository, err)
		}
	}
	for _, d := range l.manifests {
		tag := d.Annotations[v1.AnnotationRefName]
		if tag == "" {
			continue
		}
		if err := remote.Put(repository.Tag(tag), written{d.MediaType, l.blobs[d.Digest]}, with...); err != nil {
			return fmt.Errorf("naming %s:%s: %w", repository, tag, err)
		}
		fmt.Fprintf(o.stdout, "    copied to %s:%s\n", repository, tag)
	}
	return nil
}

// copy copies one blob, or one manifest after its blobs.
func (l *layout) copy(repository name.Repository, d v1.Descriptor, with []remote.Option) error {
	data := l.blobs[d.Digest]
	if d.MediaType == v1.MediaTypeImageManifest || d.MediaType == v1.MediaTypeImageIndex {
		return remote.Put(repository.Digest(d.Digest.String()), written{d.MediaType, data}, with...)
	}
	return remote.WriteLayer(repository, static.NewLayer(data, types.MediaType(d.MediaType)), with...)
}

// written is a manifest with its original bytes.
type written struct {
	mediaType string
	data      []byte
}

// RawManifest returns the bytes.
func (w written) RawManifest() ([]byte, error) { return w.data, nil }

// MediaType returns the media type.
func (w written) MediaType() (types.MediaType, error) { //nolint:unparam // remote asks for it in this form
	return types.MediaType(w.mediaType), nil
}
