// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/utils/lru"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// imagesName is the variable with the images of the profile's image vector.
const imagesName = "images"

// choicesKept is how many choices of images are kept: one for each version and architecture that a seed has.
const choicesKept = 256

// images are those of a profile.
type images struct {
	vector *image.Vector
	// choices are maps for CEL by image.Wanted.
	choices *lru.Cache
}

// readImages reads the image vector that the profile names; nil when it names none.
func readImages(d *profile.Document, overwrite *image.Vector) (*images, source.Findings) {
	path := d.ImageVector
	if path.Value == "" {
		return nil, nil
	}
	raw, ok := d.Attachments[path.Value]
	if why, refused := d.Refused[path.Value]; refused {
		return nil, source.Findings{path.At.Finding("imageVector", "%s", why).Of(source.MissingFile)}
	}
	if !ok {
		return nil, source.Findings{path.At.Finding("imageVector", "there is no file %s beside the profile", path.Value).Of(source.MissingFile)}
	}
	vector, err := image.Parse(raw)
	if err != nil {
		return nil, source.Findings{path.At.Finding("imageVector", "%s: %s", path.Value, err).Of(source.MissingFile)}
	}
	return &images{vector: vector.Overwrite(overwrite), choices: lru.New(choicesKept)}, nil
}

// variable declares the map of references by name.
func (i *images) variable() expression.Variable {
	return expression.Variable{Name: imagesName, Type: cel.MapType(cel.StringType, cel.StringType), Keys: i.vector.Names()}
}

// value are the images for a control plane, or for a worker pool of it.
func (i *images) value(f *facts.Facts, pool string) ref.Val {
	wanted := image.Wanted{Target: f.Kubernetes()}
	if seed, err := f.Seed.Get(); err == nil && seed != nil {
		wanted.Runtime = seed.Kubernetes
	}
	if worker := f.Pool(pool); worker != nil {
		wanted.Target, wanted.Architecture = worker.Kubernetes, worker.Architecture
	}
	if known, ok := i.choices.Get(wanted); ok {
		return known.(ref.Val)
	}
	chosen := types.NewStringStringMap(types.DefaultTypeAdapter, i.vector.Choose(wanted))
	i.choices.Add(wanted, chosen)
	return chosen
}
