// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package golden runs the tests of profiles, which are tables of cases. It finds them, runs them in parallel, updates
// golden files on request, and reports failures and rules without a test.
//
// A Kind defines the kind of profile and how to run it; the packages below this one implement the kinds. It uses no
// terminal and no flags, and the given clock. Start reading at Find, Prepare and Run.
package golden

import (
	"context"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Kind is a kind of testable document.
type Kind interface {
	// Profile is the kind of the documents that are tested, such as ProviderProfile. Tables are of that kind with Test behind.
	Profile() string
	// Table reads a table.
	Table(table source.Node) (Suite, source.Findings)
	// Prepare prepares all cases at once. Errors of a case are reported by its Run.
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

// Outcome is the result of a case.
type Outcome struct {
	// Failures lists the failed assertions, without golden files.
	Failures []Failure
	// Goldens lists golden files with their expected content.
	Goldens []Golden
	// Err is why the case could not be run; nil when it could.
	Err error
	// Rules lists the outcomes of the rules, for the coverage.
	Rules []RuleOutcome
}

// Failure is one thing that is not as it is wanted.
type Failure struct {
	// At is where it is wanted.
	At source.Position `json:"-"`
	// Subject is the name of the object, and Path the place in it.
	Subject string `json:"object,omitempty"`
	Path    string `json:"path,omitempty"`
	// Message describes the failure if want and got do not.
	Message string `json:"message,omitempty"`
	Want    string `json:"want,omitempty"`
	Got     string `json:"got,omitempty"`
	// By lists the rules that wrote the value, with their positions.
	By []string `json:"by,omitempty"`
	// NotBy are rules that would have written something else, with the reason why they did not.
	NotBy []string `json:"notBy,omitempty"`
	// Diff has lines with the prefix - for the expected and + for the actual value.
	Diff string `json:"diff,omitempty"`
}

// Golden is a golden file.
type Golden struct {
	Path string
	// Same means that the file has the actual content, and Missing that there is no file.
	Same, Missing bool
	// Got is the content for the file. If empty, there should be no file.
	Got []byte
	// Failure says how the file differs.
	Failure Failure
}

// OK reports whether the case passes.
func (o *Outcome) OK() bool { return o.Err == nil && len(o.AllFailures()) == 0 }

// AllFailures returns all failures, including golden files.
func (o *Outcome) AllFailures() []Failure {
	failures := o.Failures[:len(o.Failures):len(o.Failures)]
	for i := range o.Goldens {
		if !o.Goldens[i].Same {
			failures = append(failures, o.Goldens[i].Failure)
		}
	}
	return failures
}
