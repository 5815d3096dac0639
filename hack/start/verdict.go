// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
)

// weight orders objects by how much there is to see.
func (s *subject) weight() int {
	switch {
	case s.touched || len(s.problems) > 0:
		return 2
	case len(s.change.Applied) > 0:
		return 1
	default:
		return 0
	}
}

// errNotAsTheProfilesSay is wrapped by the error of objects that the API server stored otherwise.
var errNotAsTheProfilesSay = errors.New("not as the profiles say")

// errNoRule is wrapped by the error of profiles for other providers.
var errNoRule = errors.New("no rule is for this shoot")

// problems is an error with a line for each problem, or nil.
func problems(subjects []*subject) error {
	var lines []string
	bad := 0
	for _, s := range subjects {
		if len(s.problems) > 0 {
			bad++
		}
		for _, problem := range s.problems {
			lines = append(lines, "  "+s.name()+": "+problem)
		}
	}
	if bad == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d objects are %w:\n%s", bad, len(subjects), errNotAsTheProfilesSay, strings.Join(lines, "\n"))
}

// served is an error when no profile is for the provider of the shoot, so that there is nothing to see.
func served(provider string, profiles []*profile.Document) error {
	var providers []string
	for _, document := range profiles {
		providers = append(providers, document.Providers...)
	}
	if len(providers) == 0 || slices.Contains(providers, provider) {
		return nil
	}
	return fmt.Errorf("%w: its provider is %s, and the profiles are for %s; start again with -provider %s",
		errNoRule, provider, strings.Join(providers, ", "), providers[0])
}

// verdict counts what was seen.
func verdict(subjects []*subject) string {
	touched, rules := 0, 0
	for _, s := range subjects {
		if s.touched {
			touched++
		}
		rules += s.change.Count(mutation.Changed)
	}
	return fmt.Sprintf("kube-apiserver stored all %d objects as the profiles say: rules changed %d of them (applied %d times), the others are as Gardener wrote them.",
		len(subjects), touched, rules)
}
