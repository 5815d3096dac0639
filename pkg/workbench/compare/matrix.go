// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

// ErrVariant is wrapped by the error for an unknown variant.
var ErrVariant = errors.New("no such variant of a shoot")

// Plain is the variant without special properties.
const Plain = "plain"

// variant is something that can be special about a shoot.
type variant struct {
	name string
	set  func(*scene.Options)
}

// variants are all of them. To add one: one entry here.
var variants = []variant{
	{Plain, func(*scene.Options) {}},
	{"ha", func(o *scene.Options) { o.HighAvailability = true }},
	{"ipv6", func(o *scene.Options) { o.IPv6 = true }},
	{"hibernated", func(o *scene.Options) { o.Hibernated = true }},
	{"workerless", func(o *scene.Options) { o.Workerless = true }},
	{"garden", func(o *scene.Options) { o.Garden = true }},
}

// Variants returns the variants of shoots. Several variants in one shoot are joined by +, as in ha+ipv6. The virtual
// garden is not a variant.
func Variants() []string {
	var names []string
	for _, v := range variants {
		if v.name != garden {
			names = append(names, v.name)
		}
	}
	return names
}

const garden = "garden"

// Matrix selects the generated control planes: one for each version, variant and provider.
type Matrix struct {
	// Base holds the common options.
	Base scene.Options
	// Versions and Variants are those of scene.Versions and of Variants when they are nil. A version may lack its patch.
	Versions, Variants []string
	Providers          []string
	// Garden adds the virtual garden of each version.
	Garden bool
}

// Options returns the options of all shoots of the matrix, ordered by provider and version. Errors wrap ErrVariant or
// scene.ErrVersion.
func (m Matrix) Options() ([]scene.Options, error) {
	versions, err := m.versions()
	if err != nil {
		return nil, err
	}
	chosen := m.Variants
	if chosen == nil {
		chosen = Variants()
	}
	providers := m.Providers
	if len(providers) == 0 {
		providers = []string{m.Base.Provider}
	}
	var all []scene.Options
	for _, provider := range providers {
		for _, version := range versions {
			for _, names := range chosen {
				o := m.Base
				o.Provider, o.Kubernetes = provider, version
				if err := apply(names, &o); err != nil {
					return nil, err
				}
				all = append(all, o)
			}
		}
	}
	if m.Garden {
		for _, version := range versions {
			all = append(all, scene.Options{Garden: true, Kubernetes: version})
		}
	}
	return all, nil
}

// versions completes versions without a patch.
func (m Matrix) versions() ([]string, error) {
	if len(m.Versions) == 0 {
		return scene.Versions(), nil
	}
	versions := make([]string, len(m.Versions))
	for i, wanted := range m.Versions {
		var err error
		if versions[i], err = scene.Known(wanted); err != nil {
			return nil, err
		}
	}
	return versions, nil
}

// apply makes the options those of a variant.
func apply(names string, o *scene.Options) error {
	for name := range strings.SplitSeq(names, "+") {
		at := slices.IndexFunc(variants, func(v variant) bool { return v.name == name })
		if at < 0 {
			return fmt.Errorf("%w: %q%s; there are %s", ErrVariant, name, source.Suggest(name, Variants()), strings.Join(Variants(), ", "))
		}
		variants[at].set(o)
	}
	return nil
}

// Scenes generates the control planes of the matrix. It fails if one of them cannot be generated.
func (m Matrix) Scenes(ctx context.Context, generator scene.Generator) ([]*scene.Scene, error) {
	options, err := m.Options()
	if err != nil {
		return nil, err
	}
	generated, err := generator.Generate(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("generating control planes: %w", err)
	}
	scenes := make([]*scene.Scene, len(options))
	for i, o := range options {
		if scenes[i], err = scene.New(o, generated[i]); err != nil {
			return nil, err
		}
		if len(m.Providers) > 1 && !o.Garden {
			scenes[i].Title = o.Provider + ", " + scenes[i].Title
		}
	}
	return scenes, nil
}
