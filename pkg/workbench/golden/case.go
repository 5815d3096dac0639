// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package golden runs the tests of profiles, which are tables of cases. It finds them, runs them in parallel, updates
// golden files on request, and reports failures.
//
// A Tester defines the kind of profile and how to run it; the packages below this one implement it. It uses no
// terminal and no flags. Start reading at Find, Prepare and Run.
package golden

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"znkr.io/diff"
	"znkr.io/diff/textdiff"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/whole"
)

// Tester tests the documents of one kind.
type Tester interface {
	// Name is the kind of the tables, such as ProviderProfileTest.
	Name() string
	// Table reads a table.
	Table(table source.Node) *Suite
	// Prepare prepares all cases at once. Errors of a case are reported by its Run.
	Prepare(ctx context.Context, cases []*Case) error
}

// Cache holds results of functions by their inputs, such as compiled profiles.
type Cache[T any] map[string]func() (T, error)

// Once returns a function that calls compute once for all functions with the same key.
func (c Cache[T]) Once(key string, compute func() (T, error)) func() (T, error) {
	if c[key] == nil {
		c[key] = sync.OnceValues(compute)
	}
	return c[key]
}

// Case is one case for one shoot.
type Case struct {
	// Suite is the path of the table.
	Suite string
	// Name is unique in the suite.
	Name string
	// Position is the position of the case in the table.
	Position source.Position
	// Golden is the path of its golden file; empty if it has none.
	Golden string
	// Test runs it.
	Test Test

	tester Tester
}

// ID names the case among all; regular expressions choose by it.
func (c *Case) ID() string { return c.Suite + "/" + c.Name }

// Test runs a case that was prepared. Several are run at the same time.
type Test interface {
	// Run fails if the case could not be run.
	Run(ctx context.Context) (Outcome, error)
}

// Outcome is the result of a case.
type Outcome struct {
	// Failures lists the failed assertions, without golden files.
	Failures []Failure
	// Content is for the golden file of the case, if it has one.
	Content []byte
	// Golden is the failure of this file, if its content differs. Run compares it.
	Golden *Failure
	// Err is the reason why the case could not be run, or nil.
	Err error
}

// Failure is one difference between the expected and the actual result.
type Failure struct {
	// At is the position of the expectation.
	At source.Position
	// Subject is the name of the object, and Path the place in it.
	Subject string
	Path    string
	// Message describes the failure if want and got do not.
	Message string
	Want    string
	Got     string
	// By lists the rules that wrote the value, with their positions.
	By []string
	// Diff has lines with the prefix - for the expected and + for the actual value.
	Diff string
}

// OK reports whether the case passes.
func (o *Outcome) OK() bool { return o.Err == nil && len(o.AllFailures()) == 0 }

// AllFailures returns all failures, including golden files.
func (o *Outcome) AllFailures() []Failure {
	if o.Golden == nil {
		return o.Failures
	}
	return append(slices.Clone(o.Failures), *o.Golden)
}

// Result is a case with its outcome.
type Result struct {
	Case *Case
	Outcome
	Took time.Duration
}

// Prepare prepares all cases at once. It fails if a Tester cannot prepare its cases.
func Prepare(ctx context.Context, cases []*Case) error {
	byTester := map[Tester][]*Case{}
	for _, c := range cases {
		byTester[c.tester] = append(byTester[c.tester], c)
	}
	for tester, cases := range byTester {
		if err := tester.Prepare(ctx, cases); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Run runs the cases in parallel and returns their results in the same order. It calls progress with the number of
// completed cases and of all, one call at a time. It fails only if the context ends.
func Run(ctx context.Context, cases []*Case, progress func(done, of int)) ([]Result, error) {
	var (
		results = make([]Result, len(cases))
		work    errgroup.Group
		lock    sync.Mutex
		done    int
	)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range cases {
		work.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			began := time.Now()
			outcome, err := c.Test.Run(ctx)
			outcome.Err = err
			results[i] = Result{Case: c, Outcome: outcome}
			results[i].compareGolden()
			results[i].Took = time.Since(began)
			lock.Lock()
			defer lock.Unlock()
			done++
			progress(done, len(cases))
			return nil
		})
	}
	_ = work.Wait() // only that of the context
	return results, ctx.Err()
}

// Updated lists the written and removed golden files, and the cases without an update because of other failures.
type Updated struct {
	Written, Removed []string
	Kept             []*Case
}

// Update writes the golden files with other content, each atomically, and marks them as equal. A case that could not be
// run, or has other failures, keeps its files. It removes the stale files, which belong to no case. If the context
// ends, it stops between two files.
func Update(ctx context.Context, results []Result, stale []string) (*Updated, error) {
	updated := &Updated{}
	for i := range results {
		r := &results[i]
		switch {
		case (r.Err != nil || len(r.Failures) > 0) && r.Case.Golden != "":
			updated.Kept = append(updated.Kept, r.Case)
			continue
		case r.Golden == nil:
			continue
		case ctx.Err() != nil:
			return updated, ctx.Err()
		}
		if err := whole.WriteDeep(r.Case.Golden, r.Content); err != nil {
			return updated, fmt.Errorf("writing a golden file: %w", err)
		}
		r.Golden = nil
		updated.Written = append(updated.Written, r.Case.Golden)
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil {
			return updated, fmt.Errorf("removing a golden file: %w", err)
		}
		updated.Removed = append(updated.Removed, path)
	}
	return updated, nil
}

// compareGolden compares the golden file of the case with its content, byte for byte.
func (r *Result) compareGolden() {
	if r.Case.Golden == "" || r.Err != nil {
		return
	}
	differs := Failure{At: source.Position{File: r.Case.Golden}}
	switch want, err := Read(r.Case.Golden); {
	case errors.Is(err, fs.ErrNotExist):
		differs.Message = "the golden file is missing; graft test --update writes it"
	case err != nil:
		r.Outcome = Outcome{Err: fmt.Errorf("reading a golden file: %w", err)}
		return
	case bytes.Equal(want, r.Content):
		return
	default:
		differs.Message = "the result differs from the golden file (- golden, + got); if that is meant, graft test --update writes it"
		differs.Diff = textdiff.Unified(string(want), string(r.Content), diff.Context(2))
	}
	r.Golden = &differs
}
