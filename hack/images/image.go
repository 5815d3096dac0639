// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"go.yaml.in/yaml/v3"
)

// user is the numeric user and group of the programs. It owns no file of the image.
const user = "65532:65532"

// image writes the archive of one image, for all platforms, and the SPDX documents next to it.
func (o options) image(ctx context.Context, p program, built map[string]*binaries) error {
	annotations := o.source.annotations(p.name, p.description)
	index := mutate.Annotations(empty.Index, annotations).(v1.ImageIndex)
	var attached []v1.Image
	for _, platform := range o.platforms {
		image, document, err := o.platformImage(p, built[platform], annotations)
		if err != nil {
			return fmt.Errorf("for %s: %w", platform, err)
		}
		system, architecture, _ := strings.Cut(platform, "/")
		on := v1.Descriptor{Platform: &v1.Platform{OS: system, Architecture: architecture}}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: on})
		referrer, err := attachment(image, spdxType, document, o.source.time)
		if err != nil {
			return err
		}
		attached = append(attached, referrer)
		beside := filepath.Join(o.out, p.name+"-"+strings.ReplaceAll(platform, "/", "-")+".spdx.json")
		if err := os.WriteFile(beside, document, 0o644); err != nil {
			return err
		}
	}
	return published{artifact: index, referrers: attached, path: p.name, tag: o.source.version, file: p.name + ".tar"}.publish(ctx, o)
}

// platformImage returns the image for one platform, and the SPDX document of its components.
func (o options) platformImage(p program, b *binaries, annotations map[string]string) (v1.Image, []byte, error) {
	programs, err := b.read(p)
	if err != nil {
		return nil, nil, err
	}
	parts, err := o.parts(p, b, programs)
	if err != nil {
		return nil, nil, fmt.Errorf("finding the parts: %w", err)
	}
	at := v1.Time{Time: o.source.time}
	system, architecture, _ := strings.Cut(b.platform, "/")
	image, err := mutate.ConfigFile(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1), &v1.ConfigFile{
		Created: at, Author: "The Graft authors", OS: system, Architecture: architecture, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{User: user, Entrypoint: []string{"/" + programs[0].name}, Env: []string{"PATH=/"}, WorkingDir: "/", Labels: annotations},
	})
	if err != nil {
		return nil, nil, err
	}
	// Layers that change rarely come first.
	authorities := map[string]file{}
	if p.certificates {
		authorities["etc/ssl/certs/ca-certificates.crt"] = file{certificates(), 0o444}
	}
	for _, of := range []struct {
		name  string
		files map[string]file
	}{{"licences", licences(parts, 0o444)}, {"CA certificates", authorities}, {"programs", executables(programs, 0o555)}} {
		if len(of.files) == 0 && of.name != "licences" {
			continue
		}
		layer, err := newLayer(o.source.time, of.files)
		if err != nil {
			return nil, nil, fmt.Errorf("making the layer of %s: %w", of.name, err)
		}
		history := v1.History{Created: at, CreatedBy: "hack/images: " + of.name}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: history}); err != nil {
			return nil, nil, err
		}
	}
	document, err := o.spdx(p, b.platform, programs, parts)
	return mutate.Annotations(image, annotations).(v1.Image), document, err
}

// licences returns the licences and notices of modules as files.
func licences(parts []part, mode int64) map[string]file {
	files := map[string]file{}
	for _, part := range parts {
		for name, text := range part.texts {
			files["licenses/"+part.module+"@"+part.version+"/"+name] = file{text, mode}
		}
	}
	return files
}

// executables returns programs as files.
func executables(programs []binary, mode int64) map[string]file {
	files := map[string]file{}
	for _, program := range programs {
		files[program.name] = file{program.data, mode}
	}
	return files
}

// cliArchive writes the archive of one platform with the command-line programs and the licences of their modules, and prints its digest.
func (o options) cliArchive(p program, b *binaries) error {
	p.certificates = false // the machine has its own
	programs, err := b.read(p)
	if err != nil {
		return err
	}
	parts, err := o.parts(p, b, programs)
	if err != nil {
		return fmt.Errorf("finding the parts: %w", err)
	}
	name := p.name + "-" + o.source.version + "-" + strings.ReplaceAll(b.platform, "/", "-")
	files := map[string]file{}
	for _, group := range []map[string]file{executables(programs, 0o755), licences(parts, 0o644)} {
		for path, f := range group {
			files[name+"/"+path] = f
		}
	}
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	if err := errors.Join(writeTar(compressed, o.source.time, files), compressed.Close()); err != nil {
		return err
	}
	archive := filepath.Join(o.out, name+".tar.gz")
	if err := os.WriteFile(archive, out.Bytes(), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.stdout, "sha256:%x %s\n", sha256.Sum256(out.Bytes()), archive)
	return err
}

// Media types that Helm has for charts in registries, which Gardener looks for, too.
const (
	helmConfigType  = "application/vnd.cncf.helm.config.v1+json"
	helmContentType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// chartArtifacts writes each archive of a chart as an artifact.
func (o options) chartArtifacts(ctx context.Context) error {
	if o.charts == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(o.charts, "*.tgz"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("there is no archive of a chart in %s", o.charts)
	}
	for _, file := range files {
		if err := o.chart(ctx, file); err != nil {
			return fmt.Errorf("making an artifact of %s: %w", file, err)
		}
	}
	return nil
}

func (o options) chart(ctx context.Context, name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	meta, err := chartMeta(data)
	if err != nil {
		return err
	}
	title, version := fmt.Sprint(meta["name"]), fmt.Sprint(meta["version"])
	annotations := o.source.annotations(title, fmt.Sprint(meta["description"]))
	annotations["org.opencontainers.image.version"] = version
	chart, err := newArtifact(manifest{Manifest: v1.Manifest{Annotations: annotations}}, helmConfigType, meta, helmContentType, data)
	if err != nil {
		return err
	}
	// A tag cannot have a plus, which Helm writes as an underscore.
	tag := strings.ReplaceAll(version, "+", "_")
	return published{artifact: chart, path: "charts/" + title, tag: tag, file: "chart-" + title + ".tar"}.publish(ctx, o)
}

// chartMeta reads Chart.yaml out of the archive of a chart.
func chartMeta(data []byte) (meta map[string]any, err error) {
	plain, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if err != nil {
			return nil, fmt.Errorf("finding Chart.yaml: %w", err)
		}
		if matches, _ := path.Match("*/Chart.yaml", header.Name); matches {
			err = yaml.NewDecoder(archive).Decode(&meta)
			return meta, err
		}
	}
}

// attachment returns a document as an artifact that refers to an image (the referrers API of OCI).
func attachment(image v1.Image, mediaType types.MediaType, document []byte, at time.Time) (v1.Image, error) {
	subject, err := describe(image)
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{"org.opencontainers.image.created": at.Format(time.RFC3339)}
	m := manifest{Manifest: v1.Manifest{Subject: subject, Annotations: annotations}, ArtifactType: string(mediaType)}
	return newArtifact(m, "application/vnd.oci.empty.v1+json", struct{}{}, mediaType, document)
}
