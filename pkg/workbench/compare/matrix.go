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
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

// ErrVariant is wrapped by the error for an unknown variant.
var ErrVariant = errors.New("no such variant of a shoot")

// Plain is the variant without special properties.
const Plain = "plain"

// variant is something that can be special about a shoot.
type variant struct {
	name string
	set  func(*snapshot.Options)
}

// variants are all of them. To add one: one entry here.
var variants = []variant{
	{Plain, func(*snapshot.Options) {}},
	{"ha", func(o *snapshot.Options) { o.HighAvailability = true }},
	{"ipv6", func(o *snapshot.Options) { o.IPv6 = true }},
	{"hibernated", func(o *snapshot.Options) { o.Hibernated = true }},
	{"workerless", func(o *snapshot.Options) { o.Workerless = true }},
}

// Variants returns the variants of shoots.
func Variants() []string {
	names := make([]string, len(variants))
	for i, v := range variants {
		names[i] = v.name
	}
	return names
}

// Matrix selects the generated control planes: one for each version, variant and provider.
type Matrix struct {
	// Base holds the common options.
	Base snapshot.Options
	// Versions and Variants are those of snapshot.Versions and of Variants when they are nil. A version may lack its
	// patch.
	Versions, Variants []string
	Providers          []string
	// Garden adds the virtual garden of each version.
	Garden bool
}

// Options returns the options of all shoots of the matrix, ordered by provider and version. Errors wrap ErrVariant or
// snapshot.ErrVersion.
func (m Matrix) Options() ([]snapshot.Options, error) {
	versions := slices.Clone(m.Versions)
	if len(versions) == 0 {
		versions = snapshot.Versions()
	}
	for i, wanted := range versions {
		var err error
		if versions[i], err = snapshot.Known(wanted); err != nil {
			return nil, err
		}
	}
	chosen := m.Variants
	if chosen == nil {
		chosen = Variants()
	}
	providers := m.Providers
	if len(providers) == 0 {
		providers = []string{m.Base.Provider}
	}
	var all []snapshot.Options
	for _, provider := range providers {
		for _, version := range versions {
			for _, name := range chosen {
				at := slices.IndexFunc(variants, func(v variant) bool { return v.name == name })
				if at < 0 {
					return nil, fmt.Errorf("%w: %q%s; there are %s", ErrVariant, name, source.Suggest(name, Variants()), strings.Join(Variants(), ", "))
				}
				o := m.Base
				o.Provider, o.Kubernetes = provider, version
				variants[at].set(&o)
				all = append(all, o)
			}
		}
	}
	if m.Garden {
		for _, version := range versions {
			all = append(all, snapshot.Options{Garden: true, Kubernetes: version})
		}
	}
	return all, nil
}

// Snapshots generates the control planes of the matrix. It fails if one of them cannot be generated.
func (m Matrix) Snapshots(ctx context.Context, generator snapshot.Generator) ([]*snapshot.Snapshot, error) {
	options, err := m.Options()
	if err != nil {
		return nil, err
	}
	generated, err := generator.Generate(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("generating control planes: %w", err)
	}
	snapshots := make([]*snapshot.Snapshot, len(options))
	for i, o := range options {
		if snapshots[i], err = snapshot.New(o, generated[i]); err != nil {
			return nil, err
		}
		if len(m.Providers) > 1 && !o.Garden {
			snapshots[i].Title = o.Provider + ", " + snapshots[i].Title
		}
	}
	return snapshots, nil
}
