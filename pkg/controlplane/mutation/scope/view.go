// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"context"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/utils/lru"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ImagesName is the variable with the images of the profile's image vector.
const ImagesName = "images"

// choicesKept limits the cached choices of images: one for each version and architecture in a seed.
const choicesKept = 256

// images has the image vector of a profile.
type images struct {
	vector *image.Vector
	// choices caches maps of references by image.Wanted.
	choices *lru.Cache
}

// View has the values of one profile for one control plane. Variables are computed at their first use.
type View struct {
	parent  operation.Variables
	context context.Context
	Scope   *Scope
	facts   *facts.Facts
	pool    string
	// found has the results of lookups by name; lookups is the variable with them, from its first use on.
	found   map[string]*facts.LookupResult
	lookups ref.Val
	known   map[string]any
}

// readImages reads the image vector that the profile names. It returns nil if there is none.
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
		return nil, source.Findings{path.At.Finding("imageVector", "there is no file %s next to the profile", path.Value).Of(source.MissingFile)}
	}
	vector, err := image.Parse(raw)
	if err != nil {
		return nil, source.Findings{path.At.Finding("imageVector", "%s: %s", path.Value, err).Of(source.MissingFile)}
	}
	return &images{vector: vector.Overwrite(overwrite), choices: lru.New(choicesKept)}, nil
}

// variable declares the map of references by name.
func (i *images) variable() expression.Variable {
	return expression.Variable{Name: ImagesName, Type: cel.MapType(cel.StringType, cel.StringType), Keys: i.vector.Names()}
}

// value returns the images for a control plane, or for one of its worker pools.
func (i *images) value(f *facts.Facts, pool string) ref.Val {
	wanted := image.Wanted{Target: f.Kubernetes(), Runtime: f.SeedKubernetes()}
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

// ResolveName implements the CEL activation.
func (v *View) ResolveName(name string) (any, bool) {
	switch name {
	case ParametersName:
		return v.Scope.parameters, true
	case LookupsName:
		if v.lookups == nil && v.found != nil {
			v.lookups = v.Scope.lookupsType.Value(v.found)
		}
		return v.lookups, v.lookups != nil
	case VariablesName:
		return v.Scope.varType.Value(v), true
	case ImagesName:
		if v.Scope.images == nil {
			return nil, false
		}
		return v.Scope.images.value(v.facts, v.pool), true
	default:
		return v.parent.ResolveName(name)
	}
}

// Parent implements the CEL activation; ResolveName queries the parent itself.
func (v *View) Parent() operation.Variables { return nil }

// Field computes a variable once.
func (v *View) Field(name string) (any, bool) {
	declared, ok := v.Scope.VariableOf[name]
	if !ok {
		return nil, false
	}
	if value, ok := v.known[name]; ok {
		return value, true
	}
	value, err := declared.Evaluate(v.context, v)
	if err != nil {
		value = err
	}
	if v.known == nil {
		v.known = make(map[string]any, len(v.Scope.Variables))
	}
	v.known[name] = value
	return value, true
}

// Look makes a lookup of the scope once. If it fails, expressions find nothing.
func (v *View) Look(ctx context.Context, namespace string, l *Lookup, source facts.Source) *LookupError {
	if _, known := v.found[l.Request.Name]; known {
		return nil
	}
	values, err := l.read(ctx, namespace, v, source)
	if v.found == nil {
		v.found = make(map[string]*facts.LookupResult, len(v.Scope.Lookups))
	}
	v.found[l.Request.Name] = values
	return err
}
