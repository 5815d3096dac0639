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

// layout collects the blobs of an OCI layout by digest, and the entries of its index.
type layout struct {
	blobs     map[digest.Digest][]byte
	order     []v1.Descriptor // the order of adding: a blob comes before the manifest that refers to it
	manifests []v1.Descriptor
}

func newLayout() *layout { return &layout{blobs: map[digest.Digest][]byte{}} }

// add stores a blob and returns its descriptor.
func (l *layout) add(mediaType string, data []byte) v1.Descriptor {
	d := describe(mediaType, data)
	if _, ok := l.blobs[d.Digest]; !ok {
		l.order = append(l.order, d)
	}
	l.blobs[d.Digest] = data
	return d
}

// addJSON stores an object as JSON. encoding/json sorts the keys of maps, so equal objects have equal digests.
func (l *layout) addJSON(mediaType string, object any) (v1.Descriptor, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return v1.Descriptor{}, err
	}
	return l.add(mediaType, data), nil
}

// attach stores a document as an artifact that refers to a stored subject (the referrers API of OCI).
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

// name adds an entry with a tag to the front of the index.
func (l *layout) name(d v1.Descriptor, tag string) {
	d.Annotations = map[string]string{v1.AnnotationRefName: tag}
	l.manifests = append([]v1.Descriptor{d}, l.manifests...)
}

// write writes the layout as a tar archive, sorted, with owner 0 and one modification time. It renames the file when it is complete.
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
