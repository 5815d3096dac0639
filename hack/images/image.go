// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// user is the numeric user and group of the programs. It owns no file of the image.
const user = "65532:65532"

// image writes the archive of one image, for all platforms, and the SPDX documents beside it.
func (o options) image(ctx context.Context, p program, built map[string]*binaries) error {
	l := newLayout()
	annotations := o.source.annotations(p.name, p.description)
	index := v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Annotations: annotations}
	for _, platform := range o.platforms {
		d, document, err := o.platformImage(l, p, built[platform])
		if err != nil {
			return fmt.Errorf("for %s: %w", platform, err)
		}
		index.Manifests = append(index.Manifests, d)
		if err := l.attach(d, spdxType, document, map[string]string{v1.AnnotationCreated: annotations[v1.AnnotationCreated]}); err != nil {
			return err
		}
		beside := filepath.Join(o.out, p.name+"-"+strings.ReplaceAll(platform, "/", "-")+".spdx.json")
		if err := os.WriteFile(beside, document, 0o644); err != nil {
			return err
		}
	}
	d, err := l.addJSON(v1.MediaTypeImageIndex, index)
	if err != nil {
		return err
	}
	l.name(d, o.source.version)
	file := filepath.Join(o.out, p.name+".tar")
	if err := l.write(file, o.source.time); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(o.stdout, "%s:%s@%s %s\n", p.name, o.source.version, d.Digest, file); err != nil {
		return err
	}
	return o.publish(ctx, l, p.name)
}

// platformImage returns the manifest of an image for one platform, and the list of its components.
func (o options) platformImage(l *layout, p program, b *binaries) (v1.Descriptor, []byte, error) {
	programs, err := b.read(p)
	if err != nil {
		return v1.Descriptor{}, nil, err
	}
	parts, err := o.parts(p, b, programs)
	if err != nil {
		return v1.Descriptor{}, nil, fmt.Errorf("finding the parts: %w", err)
	}
	layers, err := o.layers(p, programs, parts)
	if err != nil {
		return v1.Descriptor{}, nil, fmt.Errorf("making the layers: %w", err)
	}
	system, architecture, _ := strings.Cut(b.platform, "/")
	on := v1.Platform{OS: system, Architecture: architecture}
	annotations := o.source.annotations(p.name, p.description)
	at := o.source.time
	config := v1.Image{
		Created: &at, Author: "The Graft authors", Platform: on,
		Config: v1.ImageConfig{User: user, Entrypoint: []string{"/" + programs[0].name}, Env: []string{"PATH=/"}, WorkingDir: "/", Labels: annotations},
		RootFS: v1.RootFS{Type: "layers", DiffIDs: []digest.Digest{}},
	}
	manifest := v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, Annotations: annotations}
	for _, made := range layers {
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, made.diffID)
		config.History = append(config.History, v1.History{Created: &at, CreatedBy: "hack/images: " + made.why})
		manifest.Layers = append(manifest.Layers, l.add(made.descriptor.MediaType, made.data))
	}
	if manifest.Config, err = l.addJSON(v1.MediaTypeImageConfig, config); err != nil {
		return v1.Descriptor{}, nil, err
	}
	d, err := l.addJSON(v1.MediaTypeImageManifest, manifest)
	if err != nil {
		return v1.Descriptor{}, nil, err
	}
	d.Platform = &on
	document, err := o.spdx(p, b.platform, programs, parts)
	return d, document, err
}

// layers returns the layers of an image: the rarely changing ones first, then the programs.
func (o options) layers(p program, programs []binary, parts []part) ([]layer, error) {
	licences := map[string]file{}
	for _, part := range parts {
		for name, text := range part.texts {
			licences["licenses/"+part.folder()+"/"+name] = file{data: text, mode: 0o444}
		}
	}
	below, err := newLayer("licences", o.source.time, licences)
	if err != nil {
		return nil, err
	}
	out := []layer{below}
	if p.certificates {
		authorities, err := newLayer("CA certificates", o.source.time, map[string]file{"etc/ssl/certs/ca-certificates.crt": {data: certificates(), mode: 0o444}})
		if err != nil {
			return nil, err
		}
		out = append(out, authorities)
	}
	files := map[string]file{}
	for _, program := range programs {
		files[program.name] = file{data: program.data, mode: 0o555}
	}
	above, err := newLayer("programs", o.source.time, files)
	return append(out, above), err
}
