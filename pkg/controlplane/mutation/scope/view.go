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
	lookups ref.Val
	// missing has the lookups that found nothing and whose rules are skipped.
	missing map[string]bool
	known   map[string]any
	// decided caches the results of conditions that several rules have.
	decided map[string]bool
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

// Decide evaluates a condition, once for all rules with the same text. The text is empty for a condition that differs
// for each item of a forEach. It fails if the condition cannot be evaluated.
func (v *View) Decide(ctx context.Context, when *expression.Expression, text string) (bool, error) {
	if text == "" || v.Scope.Conditions[text] < 2 {
		return when.Bool(ctx, v)
	}
	if holds, ok := v.decided[text]; ok {
		return holds, nil
	}
	holds, err := when.Bool(ctx, v)
	if err != nil {
		return false, err
	}
	if v.decided == nil {
		v.decided = map[string]bool{}
	}
	v.decided[text] = holds
	return holds, nil
}

// MissingOf returns the name of a needed lookup that found nothing, or an empty string.
func (v *View) MissingOf(n *Needs) string {
	if len(v.missing) == 0 {
		return ""
	}
	for _, l := range v.Scope.Lookups {
		if name := l.Request.Name; v.missing[name] && n.Lookups[v.Scope][name] {
			return name
		}
	}
	return ""
}

// ResolveName implements the CEL activation.
func (v *View) ResolveName(name string) (any, bool) {
	switch name {
	case ParametersName:
		return v.Scope.parameters, true
	case LookupsName:
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

// Look makes the given lookups. After a failed lookup it continues if tolerate, which may be nil, returns true, or if
// the rules of a missing object are skipped.
func (v *View) Look(
	ctx context.Context, namespace string, named map[string]bool, source facts.Source, tolerate func(*LookupError) bool,
) *LookupError {
	if len(named) == 0 {
		return nil
	}
	found := make(map[string]*facts.Found, len(named))
	for _, l := range v.Scope.Lookups {
		if !named[l.Request.Name] {
			continue
		}
		values, err := l.read(ctx, namespace, v, source)
		if err == nil {
			found[l.Request.Name] = values
			continue
		}
		if (tolerate == nil || !tolerate(err)) && (!l.Skip || !err.Missing()) {
			return err
		}
		if v.missing == nil {
			v.missing = map[string]bool{}
		}
		v.missing[l.Request.Name] = true
	}
	v.lookups = v.Scope.lookupsType.Value(found)
	return nil
}
