// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

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
