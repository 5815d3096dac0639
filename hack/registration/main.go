// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command registration writes the manifests that an operator applies to a garden, from the extension's chart:
// example/controller-registration.yaml with a ControllerRegistration and the ControllerDeployment that contains
// the chart, and example/extension.yaml for gardener-operator, which pulls the chart. With -archive it writes
// only the chart's archive. The same chart always gives the same bytes: the archive has no times and owners,
// and its files are sorted. With -gate, both manifests register Extension resources of a type on which
// gardenlet waits for the webhooks. Start reading at run; objects.go has the objects. Usage: registration
// [-chart FOLDER] [-gate TYPE] [-out FOLDER | -archive FILE]
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

func main() {
	chart := flag.String("chart", "charts/gardener-extension-provider-graft", "folder of the chart")
	out := flag.String("out", "example", "folder in which the files are written")
	gate := flag.String("gate", "", "type of the Extension with which gardenlet waits; default: it does not wait")
	archive := flag.String("archive", "", "file for the archive of the chart, in place of these")
	flag.Parse()
	if err := run(*chart, *gate, *out, *archive); err != nil {
		fmt.Fprintln(os.Stderr, "registration:", err)
		os.Exit(1)
	}
}

func run(folder, gate, out, archive string) error {
	data, err := pack(folder)
	if err != nil {
		return fmt.Errorf("packing the chart: %w", err)
	}
	files := map[string][]byte{archive: data}
	if archive == "" {
		c, err := readChart(folder)
		if err != nil {
			return err
		}
		files = map[string][]byte{
			filepath.Join(out, "controller-registration.yaml"): registration(c, gate, data),
			filepath.Join(out, "extension.yaml"):               extension(c, gate),
		}
	}
	for name, data := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pack returns the archive of a chart in Helm's form: all files in a folder with the chart's name.
func pack(folder string) ([]byte, error) {
	var out bytes.Buffer
	// The gzip header has neither time nor name.
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	// WalkDir visits files in lexical order.
	err = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return add(archive, folder, name)
	})
	if err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func add(archive *tar.Writer, folder, name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	inside, err := filepath.Rel(folder, name)
	if err != nil {
		return err
	}
	header := &tar.Header{
		Name: path.Join(filepath.Base(folder), filepath.ToSlash(inside)), Size: int64(len(data)), Mode: 0o644, Format: tar.FormatUSTAR,
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = archive.Write(data)
	return err
}
