// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Options are the settings for profiles in an extension.
type Options struct {
	// Provider is the type of the extension, such as openstack. Profiles for other providers have no rules here.
	Provider string
	// Set is the set of webhooks of the mutator; the default is target.ControlPlane. Each set needs a mutator.
	Set target.Set
	// Facts are where expressions see the Cluster and lookups: facts/cluster.New over the clients of the manager.
	// Nil: rules that need facts are refused.
	Facts facts.Source
	// Images override those in the image vectors of profiles, like IMAGEVECTOR_OVERWRITE elsewhere; nil for none.
	Images *image.Vector
	// Kubernetes restricts the served versions; nil means all. Rules are checked only against the flags of these.
	Kubernetes *semver.Constraints
}

// ErrNoRules means that no profile has a rule for the set and the provider.
var ErrNoRules = errors.New("no rules")

// compiled are the rules for the set and the provider of the options.
type compiled struct {
	options Options
	program *mutation.Program
	rules   []mutation.RuleInfo
}

// compile compiles the rules of the set and the provider, and those of the set for a virtual garden.
func compile(profiles []*profile.Document, o Options) (*compiled, error) {
	o.Set = cmp.Or(o.Set, target.ControlPlane)
	program, err := compiler.Compile(profiles, compiler.Options{Generation: contract.Today, ImageOverwrite: o.Images, Kubernetes: o.Kubernetes})
	if err != nil {
		return nil, fmt.Errorf("compiling the profiles: %w", err)
	}
	ours := func(info mutation.RuleInfo) bool {
		return info.Set == o.Set && (info.Garden || info.Provider == o.Provider)
	}
	c := &compiled{options: o, program: program.Only(ours)}
	for _, info := range c.program.Rules() {
		if ours(info) {
			c.rules = append(c.rules, info)
		}
	}
	if len(c.rules) == 0 {
		return nil, fmt.Errorf("compiling the profiles for %s of provider %q: %w", o.Set, o.Provider, ErrNoRules)
	}
	return c, nil
}

// refuse returns an error for the rules for which reason returns a text, or nil.
func (c *compiled) refuse(reason func(mutation.RuleInfo) string) error {
	var findings source.Findings
	for _, info := range c.rules {
		if message := reason(info); message != "" {
			findings = append(findings, source.Finding{Position: info.Position, Path: info.Path, Message: message})
		}
	}
	return findings.Err()
}

// admit mutates an object with the program.
func (c *compiled) admit(ctx context.Context, r mutation.Request) (*mutation.Result, error) {
	r.Set, r.Provider, r.Garden = c.options.Set, c.options.Provider, r.Namespace == target.GardenNamespace
	if r.Garden {
		r.Provider = ""
	}
	if !slices.ContainsFunc(c.rules, func(info mutation.RuleInfo) bool { return info.Garden == r.Garden }) {
		return &mutation.Result{}, nil
	}
	result, err := c.program.Admit(ctx, r, c.options.Facts)
	var failure *mutation.Failure
	if errors.As(err, &failure) {
		return nil, fmt.Errorf("%s: %w", failure.Reason, failure)
	}
	return result, err
}

// names reports whether one of the references is a name or a path below it.
func names(references []string, name string) bool {
	return slices.ContainsFunc(references, func(reference string) bool {
		return reference == name || strings.HasPrefix(reference, name+".")
	})
}
