// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package image selects images from image vectors: files in which Gardener's components list the images that they
// deploy, each for versions of Kubernetes and architectures (gardener: docs/deployment/image_vector.md). A profile
// contains one, and the operator of a landscape can override parts of all of them.
//
// It selects images with Gardener's own code. The package reads no files; the loader of profiles passes the content.
// Start reading at Parse.
package image

import (
	"fmt"
	"slices"

	"github.com/gardener/gardener/pkg/utils/imagevector"
)

// Vector is a list of images. It is immutable.
type Vector struct {
	sources imagevector.ImageVector
	names   []string
}

// Parse reads an image vector in Gardener's format. It fails if Gardener's library rejects it.
func Parse(raw []byte) (*Vector, error) {
	sources, err := imagevector.Read(raw)
	if err != nil {
		return nil, fmt.Errorf("reading the image vector: %w", err)
	}
	v := &Vector{sources: sources}
	for _, source := range sources {
		v.names = append(v.names, source.Name)
	}
	slices.Sort(v.names)
	v.names = slices.Compact(v.names)
	return v, nil
}

// Names returns the names of the images, sorted.
func (v *Vector) Names() []string { return v.names }

// Overwrite returns the vector with images replaced by those with the same names in other. It adds no images; nil
// replaces none.
func (v *Vector) Overwrite(other *Vector) *Vector {
	if other == nil {
		return v
	}
	merged := imagevector.Merge(v.sources, other.sources)
	return &Vector{names: v.names, sources: slices.DeleteFunc(merged, func(source *imagevector.ImageSource) bool {
		return !slices.Contains(v.names, source.Name)
	})}
}

// Wanted holds the criteria for selecting images. Empty ones are ignored, except that an empty architecture means
// amd64.
type Wanted struct {
	// Target is the version of Kubernetes that the image manages. Runtime is the version of the cluster in which it runs.
	Target, Runtime string
	Architecture    string
}

// Choose returns the references of the images by name. It omits images for other versions or architectures.
func (v *Vector) Choose(w Wanted) map[string]string {
	var options []imagevector.FindOptionFunc
	if w.Target != "" {
		options = append(options, imagevector.TargetVersion(w.Target))
	}
	if w.Runtime != "" {
		options = append(options, imagevector.RuntimeVersion(w.Runtime))
	}
	if w.Architecture != "" {
		options = append(options, imagevector.Architecture(w.Architecture))
	}
	chosen := make(map[string]string, len(v.names))
	for _, name := range v.names {
		if found, err := v.sources.FindImage(name, options...); err == nil {
			chosen[name] = found.String()
		}
	}
	return chosen
}
