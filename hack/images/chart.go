// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"go.yaml.in/yaml/v3"
)

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
