// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/comparison"
)

// expectation holds the assertions about the objects of a selector.
type expectation struct {
	selector

	at      source.Node
	state   string
	denied  *v1alpha1.TestDenial
	rules   map[string]source.Text
	asserts []assertion
}

// assertion is one thing that is expected of an object.
type assertion struct {
	at source.Node
	// field is the field of the expectation, such as flags.cloud-provider.
	field string
	// look compares the actual with the expected value.
	look func(o *subject) ([]comparison.Mismatch, error)
	// near lists texts that identify the line of the value in the object, to find the rule that wrote it.
	near []string
	// about is the name of the value in the places of rules.
	about string
}

// compiler collects the assertions of an expectation.
type compiler struct {
	selector

	expected v1alpha1.TestExpected
	profile  profileText
	asserts  []assertion
	findings source.Findings
}

func (c *compiler) add(a assertion) { c.asserts = append(c.asserts, a) }

func (c *compiler) refuse(at source.Node, field, format string, arguments ...any) {
	c.findings = append(c.findings, at.Finding(field, format, arguments...))
}

// checks read the fields of an expectation. To add one: a field in v1alpha1.TestExpected, and a line here.
var checks = []func(c *compiler, path string){
	flags, mapFlags, listFlags, featureGates, env,
	metadata, containers, volumes, fields,
	configuration, units, files, nulls,
}

// compileExpectations compiles expectations in the order of the document.
func compileExpectations(written map[string]v1alpha1.TestExpectation, path string, profile profileText) ([]expectation, source.Findings) {
	var (
		all      []expectation
		findings source.Findings
	)
	for title, e := range written {
		at := path + "." + title
		s, more := compileSelector(e.At, at, title, e.Purposes, true)
		findings = append(findings, more...)
		if len(more) > 0 {
			continue
		}
		c := &compiler{selector: s, expected: e.TestExpected, profile: profile}
		for _, check := range checks {
			check(c, at)
		}
		c.states(e, at)
		slices.SortStableFunc(c.asserts, func(a, b assertion) int {
			if a.at.Position().Before(b.at.Position()) {
				return -1
			}
			return 1
		})
		findings = append(findings, c.findings...)
		all = append(all, expectation{selector: s, at: e.At, state: e.State, denied: e.Denied, rules: e.Rules, asserts: c.asserts})
	}
	slices.SortFunc(all, func(a, b expectation) int {
		if a.at.Position().Before(b.at.Position()) {
			return -1
		}
		return 1
	})
	return all, findings
}

// states compiles assertions about the object as a whole, and about rules.
func (c *compiler) states(e v1alpha1.TestExpectation, path string) {
	gone := e.Denied != nil || e.State == v1alpha1.TestDenied || e.State == v1alpha1.TestAbsent
	if gone && (len(c.asserts) > 0 || len(e.Rules) > 0) {
		c.refuse(e.At, path, "nothing more can be expected of an object that is denied or absent")
	}
	if e.Denied != nil && e.State != "" && e.State != v1alpha1.TestDenied {
		c.refuse(e.At, path, "denied, and %s", e.State)
	}
	for name, word := range e.Rules {
		if !slices.Contains(v1alpha1.TestOutcomes, word.Value) {
			c.refuse(word.At, path+".rules."+name, "must be one of %s%s", strings.Join(v1alpha1.TestOutcomes, ", "), source.Suggest(word.Value, v1alpha1.TestOutcomes))
		}
	}
	if c.others && len(c.asserts) > 0 {
		c.refuse(e.At, path, "of all others only a state or rules can be expected")
	}
}

// lookAt compares with a value that is found in the object.
func lookAt(want any, find func(o *subject) (any, bool, error)) func(o *subject) ([]comparison.Mismatch, error) {
	return func(o *subject) ([]comparison.Mismatch, error) {
		got, there, err := find(o)
		if err != nil {
			return nil, err
		}
		return comparison.Differences("", want, got, there), nil
	}
}

// lookFor works like lookAt for a value in a test.
func lookFor(want source.Node, find func(o *subject) (any, bool, error)) func(o *subject) ([]comparison.Mismatch, error) {
	return lookAt(comparison.Plain(want), find)
}

func fieldName(path, field, name string) string { return fmt.Sprintf("%s.%s.%s", path, field, name) }
