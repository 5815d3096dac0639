// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package artifact makes an OCI image of profiles: their files and nothing else, for registries, and for Pods that mount it as a volume. The same
// files give the same digests on every machine: it contains no times, and gzip stores the bytes uncompressed. It opens no files and knows no
// registry; other tools copy the image. Start reading at Collect and Write.
package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// architectures lists the architectures of nodes that mount the image: a container runtime unpacks only its own one.
// All have the same layer.
var architectures = []string{"amd64", "arm64"}

// Collect returns the files of an image by their paths in it: profiles at its root, and the files that they use at the
// paths that they contain, as in a folder of profiles. Files with the same path must be equal, and a file must not have
// the path of a folder. It fails if a used file is outside the profile's folder or unreadable.
func Collect(profiles []source.File) (map[string][]byte, error) {
	files, origins := map[string][]byte{}, map[string]string{}
	add := func(name, origin string, data []byte) error {
		if !fs.ValidPath(name) {
			return fmt.Errorf("collecting files: %s would not be in the image", name)
		}
		if other, ok := files[name]; ok && !bytes.Equal(other, data) {
			return fmt.Errorf("collecting files: there are two that are called %s, %s and %s: give one another name, or make an image of each; "+
				"charts take several", name, origins[name], origin)
		}
		files[name], origins[name] = data, origin
		return nil
	}
	names := namesOf(profiles)
	for i, file := range profiles {
		if err := add(names[i], file.Name, file.Data); err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(file.Attachments)) {
			if err := add(path.Clean(name), filepath.Join(filepath.Dir(file.Name), filepath.FromSlash(name)), file.Attachments[name]); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for above := path.Dir(name); above != "."; above = path.Dir(above) {
			if _, ok := files[above]; ok {
				return nil, fmt.Errorf("collecting files: %s is a file, and would be the folder of %s", above, name)
			}
		}
	}
	return files, nil
}

// Distinct renames files that several profiles name in different folders with the same path and other content: the folder of the profile comes
// in front of the name, in the profile as well.
func Distinct(profiles []source.File) []source.File {
	out := slices.Clone(profiles)
	for i, file := range out {
		renamed := map[string]string{}
		for name, data := range file.Attachments {
			differs := func(other source.File) bool {
				theirs, ok := other.Attachments[name]
				return ok && !bytes.Equal(theirs, data)
			}
			if slices.ContainsFunc(profiles, differs) {
				renamed[name] = path.Join(path.Dir(name), filepath.Base(filepath.Dir(file.Name))+"-"+path.Base(name))
			}
		}
		if len(renamed) > 0 {
			out[i] = rename(file, renamed)
		}
	}
	return out
}

// rename gives the attachments of a profile other names, also where the profile names them.
func rename(file source.File, names map[string]string) source.File {
	lines := strings.SplitAfter(string(file.Data), "\n")
	var walk func(n source.Node)
	walk = func(n source.Node) {
		if to, ok := names[path.Clean(n.Value)]; ok && n.Kind == yaml.ScalarNode {
			line := lines[n.Line-1]
			begin := min(n.Column-1, len(line))
			lines[n.Line-1] = line[:begin] + strings.Replace(line[begin:], n.Value, to, 1)
		}
		for _, field := range n.Fields() {
			if field.Value.Kind != yaml.ScalarNode || field.Key.Value == "contentFrom" || field.Key.Value == "imageVector" {
				walk(field.Value)
			}
		}
		for _, item := range n.Items() {
			if item.Kind != yaml.ScalarNode {
				walk(item)
			}
		}
	}
	nodes, _ := source.Parse(file) // lint has read it
	for _, node := range nodes {
		walk(node)
	}
	file.Data = []byte(strings.Join(lines, ""))
	file.Attachments = maps.Clone(file.Attachments)
	for from, to := range names {
		file.Attachments[to] = file.Attachments[from]
		delete(file.Attachments, from)
	}
	return file
}

// namesOf returns the names of profiles in the image: those of their files, with the folder in front where several files have one name.
func namesOf(profiles []source.File) []string {
	count := map[string]int{}
	for _, file := range profiles {
		count[filepath.Base(file.Name)]++
	}
	names := make([]string, len(profiles))
	for i, file := range profiles {
		names[i] = filepath.Base(file.Name)
		if folder := filepath.Base(filepath.Dir(file.Name)); count[names[i]] > 1 && folder != "." && folder != string(filepath.Separator) {
			names[i] = folder + "-" + names[i]
		}
	}
	return names
}

// layout collects the files of an OCI layout by their paths. Its methods return the descriptors of the added blobs.
type layout map[string][]byte

func (l layout) add(mediaType string, data []byte) ocispec.Descriptor {
	sum := digest.FromBytes(data)
	l[path.Join(ocispec.ImageBlobsDir, sum.Algorithm().String(), sum.Encoded())] = data
	return ocispec.Descriptor{MediaType: mediaType, Digest: sum, Size: int64(len(data))}
}

func (l layout) addJSON(mediaType string, object any) ocispec.Descriptor {
	data, _ := json.Marshal(object) // cannot fail: the fields are texts and numbers
	return l.add(mediaType, data)
}

// Write writes an image as an archive of an OCI layout under the tag, and returns its digest. It fails if a file cannot be
// archived or out cannot be written.
func Write(out io.Writer, files map[string][]byte, tag string) (string, error) {
	archived, err := archive(files)
	if err != nil {
		return "", err
	}
	blobs := layout{}
	layer := blobs.add(ocispec.MediaTypeImageLayerGzip, store(archived))
	version := specs.Versioned{SchemaVersion: 2}
	index := ocispec.Index{Versioned: version, MediaType: ocispec.MediaTypeImageIndex}
	for _, architecture := range architectures {
		on := ocispec.Platform{Architecture: architecture, OS: "linux"}
		about := ocispec.Image{Platform: on, RootFS: ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(archived)}}}
		manifest := blobs.addJSON(ocispec.MediaTypeImageManifest, ocispec.Manifest{
			Versioned: version, MediaType: ocispec.MediaTypeImageManifest, Config: blobs.addJSON(ocispec.MediaTypeImageConfig, about),
			Layers: []ocispec.Descriptor{layer},
		})
		manifest.Platform = &on
		index.Manifests = append(index.Manifests, manifest)
	}
	top := blobs.addJSON(ocispec.MediaTypeImageIndex, index)
	top.Annotations = map[string]string{ocispec.AnnotationRefName: tag}
	named, _ := json.Marshal(ocispec.Index{Versioned: version, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{top}}) // see addJSON
	blobs[ocispec.ImageIndexFile], blobs[ocispec.ImageLayoutFile] = named, []byte(`{"imageLayoutVersion":"`+ocispec.ImageLayoutVersion+`"}`)
	whole, err := archive(blobs)
	if err != nil {
		return "", err
	}
	_, err = out.Write(whole)
	return top.Digest.String(), err
}

// store writes bytes uncompressed in the gzip format, which registry tools expect. Only Go's division into blocks and
// its archive headers can change with the version; compressors change more often. A test pins the digest.
func store(data []byte) []byte {
	var out bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&out, gzip.NoCompression) // the level is valid, and a Buffer does not fail
	_, _ = writer.Write(data)
	_ = writer.Close()
	return out.Bytes()
}

// archive makes an archive of files and the folders above them: sorted, of root, readable by all, and without a time.
func archive(files map[string][]byte) ([]byte, error) {
	headers := map[string]*tar.Header{}
	for name, data := range files {
		headers[name] = &tar.Header{Name: name, Mode: 0o444, Size: int64(len(data)), Typeflag: tar.TypeReg}
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			headers[folder+"/"] = &tar.Header{Name: folder + "/", Mode: 0o755, Typeflag: tar.TypeDir}
		}
	}
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(headers)) { // a folder precedes its content
		header := headers[name]
		header.ModTime, header.Format = time.Unix(0, 0).UTC(), tar.FormatPAX
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("archiving %s: %w", name, err)
		}
		if _, err := writer.Write(files[strings.TrimSuffix(name, "/")]); header.Typeflag == tar.TypeReg && err != nil {
			return nil, fmt.Errorf("archiving %s: %w", name, err)
		}
	}
	err := writer.Close()
	return out.Bytes(), err
}
