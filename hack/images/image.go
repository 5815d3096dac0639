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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"go.yaml.in/yaml/v3"
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

// file is one file of an image, which root owns.
type file struct {
	data []byte
	mode int64
}

// layer is an archive of files, compressed.
type layer struct {
	descriptor v1.Descriptor
	data       []byte
	diffID     digest.Digest // that of the archive before it was compressed
	why        string        // the history says it
}

// newLayer returns a layer with files by their paths.
func newLayer(why string, at time.Time, files map[string]file) (layer, error) {
	var plain, out bytes.Buffer
	if err := writeTar(&plain, at, files); err != nil {
		return layer{}, err
	}
	compressed := gzip.NewWriter(&out)
	if _, err := compressed.Write(plain.Bytes()); err != nil {
		return layer{}, err
	}
	if err := compressed.Close(); err != nil {
		return layer{}, err
	}
	return layer{
		descriptor: describe(v1.MediaTypeImageLayerGzip, out.Bytes()), data: out.Bytes(), diffID: digest.FromBytes(plain.Bytes()), why: why,
	}, nil
}

// writeTar archives files by their paths, with the folders above them: sorted, owned by root, and all of the same time.
func writeTar(out io.Writer, at time.Time, files map[string]file) error {
	archive := tar.NewWriter(out)
	write := func(name string, mode int64, kind byte, data []byte) error {
		header := &tar.Header{Name: name, Mode: mode, Size: int64(len(data)), Typeflag: kind, ModTime: at, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err := archive.Write(data)
		return err
	}
	for _, folder := range foldersOf(files) {
		if err := write(folder+"/", 0o755, tar.TypeDir, nil); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := write(name, files[name].mode, tar.TypeReg, files[name].data); err != nil {
			return err
		}
	}
	return archive.Close()
}

// foldersOf are all folders above the files, those above before those below.
func foldersOf(files map[string]file) []string {
	folders := map[string]bool{}
	for name := range files {
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			folders[strings.TrimPrefix(folder, "/")] = true
		}
	}
	return slices.Sorted(maps.Keys(folders))
}

// describe is the descriptor of some bytes.
func describe(mediaType string, data []byte) v1.Descriptor {
	return v1.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
}

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

// Media types that Helm has for charts in registries, which Gardener looks for, too.
const (
	helmConfigType  = "application/vnd.cncf.helm.config.v1+json"
	helmContentType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// chartArtifacts writes each archive of a chart as an artifact.
func (o options) chartArtifacts(ctx context.Context) error {
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
	l := newLayout()
	config, err := l.addJSON(helmConfigType, meta)
	if err != nil {
		return err
	}
	d, err := l.addJSON(v1.MediaTypeImageManifest, v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest,
		Config: config, Layers: []v1.Descriptor{l.add(helmContentType, data)}, Annotations: annotations,
	})
	if err != nil {
		return err
	}
	// A tag cannot have a plus, which Helm writes as an underscore.
	l.name(d, strings.ReplaceAll(version, "+", "_"))
	file := filepath.Join(o.out, "chart-"+title+".tar")
	if err := l.write(file, o.source.time); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(o.stdout, "charts/%s:%s@%s %s\n", title, version, d.Digest, file); err != nil {
		return err
	}
	return o.publish(ctx, l, "charts/"+title)
}

// chartMeta reads Chart.yaml out of the archive of a chart.
func chartMeta(data []byte) (map[string]any, error) {
	plain, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, errors.New("there is no Chart.yaml in it")
		case err != nil:
			return nil, err
		case strings.Count(header.Name, "/") != 1 || path.Base(header.Name) != "Chart.yaml":
			continue
		}
		var meta map[string]any
		if err := yaml.NewDecoder(archive).Decode(&meta); err != nil {
			return nil, fmt.Errorf("reading Chart.yaml: %w", err)
		}
		return meta, nil
	}
}

// cliArchives writes one archive per platform with the command-line programs and the licences of their modules. The same commit and the same
// Go version give the same bytes.
func (o options) cliArchives(ctx context.Context, built map[string]*binaries) error {
	at := slices.IndexFunc(o.programs, func(p program) bool { return p.cli })
	if at < 0 {
		return nil
	}
	p := o.programs[at]
	p.certificates = false // the machine has its own
	for _, platform := range o.cli {
		if err := o.cliPlatform(ctx, p, platform, built[platform]); err != nil {
			return err
		}
	}
	return nil
}

// cliPlatform writes the archive of one platform. It builds the programs if they are not built yet (b is nil).
func (o options) cliPlatform(ctx context.Context, p program, platform string, b *binaries) error {
	if b == nil {
		alone := o
		alone.programs = []program{p}
		var err error
		if b, err = build(ctx, alone, platform); err != nil {
			return fmt.Errorf("building for %s: %w", platform, err)
		}
		defer b.remove()
	}
	if err := o.cliArchive(p, b); err != nil {
		return fmt.Errorf("archiving for %s: %w", platform, err)
	}
	return nil
}

// cliArchive writes the archive of one platform and prints its digest.
func (o options) cliArchive(p program, b *binaries) error {
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
	for _, program := range programs {
		files[name+"/"+program.name] = file{data: program.data, mode: 0o755}
	}
	for _, part := range parts {
		for licence, text := range part.texts {
			files[name+"/licenses/"+part.folder()+"/"+licence] = file{data: text, mode: 0o644}
		}
	}
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	if err := writeTar(compressed, o.source.time, files); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	path := filepath.Join(o.out, name+".tar.gz")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.stdout, "sha256:%x %s\n", sha256.Sum256(out.Bytes()), path)
	return err
}
