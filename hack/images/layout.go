// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// layout is an OCI layout in the making: blobs by their digests, and what its index names.
type layout struct {
	blobs     map[digest.Digest][]byte
	order     []v1.Descriptor // in which blobs came: what is named before that which names it
	manifests []v1.Descriptor
}

func newLayout() *layout { return &layout{blobs: map[digest.Digest][]byte{}} }

// add keeps bytes.
func (l *layout) add(mediaType string, data []byte) v1.Descriptor {
	d := describe(mediaType, data)
	if _, ok := l.blobs[d.Digest]; !ok {
		l.order = append(l.order, d)
	}
	l.blobs[d.Digest] = data
	return d
}

// addJSON keeps an object. Its bytes depend on the object alone: Go sorts keys.
func (l *layout) addJSON(mediaType string, object any) (v1.Descriptor, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return v1.Descriptor{}, err
	}
	return l.add(mediaType, data), nil
}

// attach keeps a document about something that is there, as an artifact that refers to it, which is how registries find it.
func (l *layout) attach(subject v1.Descriptor, mediaType string, document []byte, annotations map[string]string) error {
	about := v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size}
	d, err := l.addJSON(v1.MediaTypeImageManifest, v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, ArtifactType: mediaType,
		Config: l.add(v1.DescriptorEmptyJSON.MediaType, v1.DescriptorEmptyJSON.Data), Layers: []v1.Descriptor{l.add(mediaType, document)},
		Subject: &about, Annotations: annotations,
	})
	if err != nil {
		return err
	}
	d.ArtifactType = mediaType
	l.manifests = append(l.manifests, d)
	return nil
}

// name puts something first in the index, under a tag.
func (l *layout) name(d v1.Descriptor, tag string) {
	d.Annotations = map[string]string{v1.AnnotationRefName: tag}
	l.manifests = append([]v1.Descriptor{d}, l.manifests...)
}

// write archives the layout: sorted, of nobody, and all of the same time. The file is there as a whole or not at all.
func (l *layout) write(name string, at time.Time) error {
	index, err := json.Marshal(v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: l.manifests})
	if err != nil {
		return err
	}
	version, err := json.Marshal(v1.ImageLayout{Version: v1.ImageLayoutVersion})
	if err != nil {
		return err
	}
	files := map[string]file{v1.ImageLayoutFile: {version, 0o644}, v1.ImageIndexFile: {index, 0o644}}
	for d, data := range l.blobs {
		files["blobs/"+strings.ReplaceAll(d.String(), ":", "/")] = file{data, 0o644}
	}
	out, err := os.CreateTemp(filepath.Dir(name), ".image-")
	if err != nil {
		return err
	}
	if err := errors.Join(writeTar(out, at, files), out.Chmod(0o644), out.Close()); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", name, err), os.Remove(out.Name()))
	}
	return os.Rename(out.Name(), name)
}
