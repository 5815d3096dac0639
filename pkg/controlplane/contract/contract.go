// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package contract checks the clauses of Gardener's control-plane webhook contract: places that a rule must not write,
// which are found when a profile is loaded, and parts of an object that no mutation may change, regardless of the
// operation. It uses targets and documents, but no rules, and must not read clusters. Start reading at Reserved and
// Protect.
package contract

import (
	"fmt"

	"github.com/Masterminds/semver/v3"
)

// Generation is the generation of Gardener that an installation serves.
type Generation uint8

const (
	// Today is Gardener as it has been since it exposes every kube-apiserver by SNI: the two flags and the Service that
	// SNI needs are always locked, without a label.
	Today Generation = iota
	// Labelled is the older generation, which has a label on the Deployment and the Service if it uses SNI.
	Labelled
)

// firstUnlabelled is the first version of Gardener without the label and without EnsureKubeAPIServerService
// (gardener/gardener#9755, #9770).
var firstUnlabelled = semver.MustParse("1.96.0")

// GenerationOf returns the generation of a version of Gardener; an empty version means the current one. It fails if the
// version is not a semantic version.
func GenerationOf(version string) (Generation, error) {
	if version == "" {
		return Today, nil
	}
	parsed, err := semver.NewVersion(version)
	if err != nil {
		return Today, fmt.Errorf("reading the Gardener version %q: %w", version, err)
	}
	if semver.New(parsed.Major(), parsed.Minor(), parsed.Patch(), "", "").LessThan(firstUnlabelled) {
		return Labelled, nil
	}
	return Today, nil
}

// For reports whether a constraint on versions of Gardener, such as "< 1.96", admits versions of the generation. An
// empty constraint admits all, an invalid one none.
func (g Generation) For(constraint string) bool {
	if constraint == "" {
		return true
	}
	parsed, err := semver.NewConstraint(constraint)
	if err != nil {
		return false
	}
	for minor := range uint64(newestMinor) {
		version := semver.New(1, minor, 0, "", "")
		if version.LessThan(firstUnlabelled) == (g == Labelled) && parsed.Check(version) {
			return true
		}
	}
	return false
}

// newestMinor is greater than the minor version of any Gardener that a constraint may name.
const newestMinor = 999

// String names the generation.
func (g Generation) String() string {
	if g == Labelled {
		return "labelled"
	}
	return "today"
}

// Clause is one statement of the contract.
type Clause struct {
	// ID is the name of the statement in docs/contract.md, such as kube-apiserver/sni.
	ID string
	// Text describes the requirement in our own words.
	Text string
}

// String writes the clause as messages cite it.
func (c Clause) String() string { return "contract " + c.ID + ": " + c.Text }
