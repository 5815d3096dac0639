// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
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

// newLayer archives files by their paths, with the folders above them: sorted, of root, and all of the same time.
func newLayer(why string, at time.Time, files map[string]file) (layer, error) {
	var plain bytes.Buffer
	archive := tar.NewWriter(&plain)
	header := func(name string, mode, size int64, kind byte) error {
		return archive.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: size, Typeflag: kind, ModTime: at, Format: tar.FormatPAX})
	}
	for _, folder := range foldersOf(files) {
		if err := header(folder+"/", 0o755, 0, tar.TypeDir); err != nil {
			return layer{}, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		if err := header(name, f.mode, int64(len(f.data)), tar.TypeReg); err != nil {
			return layer{}, err
		}
		if _, err := archive.Write(f.data); err != nil {
			return layer{}, err
		}
	}
	if err := archive.Close(); err != nil {
		return layer{}, err
	}
	var out bytes.Buffer
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
