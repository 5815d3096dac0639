// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command registration writes the manifests that an operator applies to a garden, from the extension's chart:
// example/controller-registration.yaml with a ControllerRegistration and the ControllerDeployment that contains
// the chart, and example/extension.yaml for gardener-operator, which pulls the chart. With -archive it writes
// only the chart's archive. The same chart always gives the same bytes: the archive has no times and owners,
// and its files are sorted. With -gate, both manifests register Extension resources of a type on which
// gardenlet waits for the webhooks. Start reading at run; the templates have the objects. Usage: registration
// [-chart FOLDER] [-gate TYPE] [-out FOLDER | -archive FILE]
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
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
	if archive != "" {
		return write(archive, data)
	}
	m := manifest{Gate: gate, Archive: quoted(data)}
	described, err := os.ReadFile(filepath.Join(folder, "Chart.yaml"))
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(described, &m.chart); err != nil {
		return fmt.Errorf("reading Chart.yaml: %w", err)
	}
	for _, name := range []string{"controller-registration.yaml", "extension.yaml"} {
		var text bytes.Buffer
		if err := templates.ExecuteTemplate(&text, name+".tmpl", m); err != nil {
			return err
		}
		if err := write(filepath.Join(out, name), text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func write(name string, data []byte) error {
	return errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, data, 0o644))
}

// pack returns the archive of a chart in Helm's form: all files in a folder with the chart's name.
func pack(folder string) ([]byte, error) {
	var out bytes.Buffer
	// The gzip header has neither time nor name.
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive, files := tar.NewWriter(compressed), os.DirFS(folder)
	// WalkDir visits files in lexical order.
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path.Join(filepath.Base(folder), name), Size: int64(len(data)), Mode: 0o644, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = archive.Write(data)
		return err
	})
	err = errors.Join(err, archive.Close(), compressed.Close())
	return out.Bytes(), err
}

// chart has the fields of Chart.yaml.
type chart struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	AppVersion string `json:"appVersion"`
}

// manifest is the data of both templates.
type manifest struct {
	chart
	// Gate is the type of the Extensions that gardenlet waits for; empty if it does not wait.
	Gate string
	// Archive is the chart as a YAML scalar.
	Archive string
}

//go:embed *.yaml.tmpl
var files embed.FS

var templates = template.Must(template.ParseFS(files, "*.yaml.tmpl"))

// quoted returns the archive in base64 as a double-quoted YAML scalar. Backslashes at the line ends remove line
// breaks and indentation from the value.
func quoted(archive []byte) string {
	const width = 120
	encoded := base64.StdEncoding.EncodeToString(archive)
	var out strings.Builder
	out.WriteString(`"`)
	for len(encoded) > width {
		out.WriteString(encoded[:width] + "\\\n    ")
		encoded = encoded[width:]
	}
	out.WriteString(encoded + "\"\n")
	return out.String()
}
