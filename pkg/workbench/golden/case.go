// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package golden runs the tests that people write for their profiles: tables of cases. It finds them, runs them in
// parallel, writes what they hold when it is asked to, and says what failed and which rules no case has shown.
//
// What a profile is, and how one is tried, is the business of a Kind; the packages below this one are the kinds that there are.
// It knows no terminal and no flags, and clocks come in. Enter at Find, Prepare and Run.
package golden

import (
	"context"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Kind is a kind of document for which tests can be written.
type Kind interface {
	// Profile is the kind of the documents that are tested, such as ProviderProfile. Tables are of that kind with Test behind.
	Profile() string
	// Table reads a table.
	Table(table source.Node) (Suite, source.Findings)
	// Prepare does for all cases at once what they need before they are run. What is wrong with one of them is for its Run to say.
	Prepare(ctx context.Context, cases []*Case) error
}

// Suite are cases that stand together.
type Suite struct {
	Cases []*Case
	// Held are the golden files that are there, those of no case included.
	Held []string
}

// Case is one case for one shoot.
type Case struct {
	// Suite is the path of the table.
	Suite string
	// Name is unique in the suite.
	Name string
	// Position is where the case is written.
	Position source.Position
	// Goldens are the golden files that it holds, or would hold.
	Goldens []string
	// Test runs it.
	Test Test

	kind Kind
}

// ID names the case among all; regular expressions choose by it.
func (c *Case) ID() string { return c.Suite + "/" + c.Name }

// Test runs a case that was prepared. Several are run at the same time.
type Test interface {
	Run(ctx context.Context) Outcome
}

// Outcome is what became of a case.
type Outcome struct {
	// Failures are what is not as it is wanted, golden files aside.
	Failures []Failure
	// Goldens are golden files with what they should hold.
	Goldens []Golden
	// Err is why the case could not be run; nil when it could.
	Err error
	// Rules are what became of the rules, for the coverage.
	Rules []RuleOutcome
}

// Failure is one thing that is not as it is wanted.
type Failure struct {
	// At is where it is wanted.
	At source.Position `json:"-"`
	// Subject is the object, and Path what of it.
	Subject string `json:"object,omitempty"`
	Path    string `json:"path,omitempty"`
	// Message says what is wrong where want and got do not say it.
	Message string `json:"message,omitempty"`
	Want    string `json:"want,omitempty"`
	Got     string `json:"got,omitempty"`
	// By are the rules that wrote what is there, with their places.
	By []string `json:"by,omitempty"`
	// NotBy are rules that would have written something else, with the reason why they did not.
	NotBy []string `json:"notBy,omitempty"`
	// Diff are lines that begin with - for what is wanted and + for what is there.
	Diff string `json:"diff,omitempty"`
}

// Golden is a file that holds what was got.
type Golden struct {
	Path string
	// Same says that the file says what was got, Missing that there is none.
	Same, Missing bool
	// Got is what the file should say. Empty: there should be no file.
	Got []byte
	// Failure says how the file differs.
	Failure Failure
}

// OK says whether the case passes.
func (o *Outcome) OK() bool { return o.Err == nil && len(o.AllFailures()) == 0 }

// AllFailures are all that is not as it is wanted, golden files included.
func (o *Outcome) AllFailures() []Failure {
	failures := o.Failures[:len(o.Failures):len(o.Failures)]
	for i := range o.Goldens {
		if !o.Goldens[i].Same {
			failures = append(failures, o.Goldens[i].Failure)
		}
	}
	return failures
}
