// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package rule answers Karmada's questions with the rules of InterpreterProfiles.
//
// Rules are compiled once. Everything that can be checked without an object is checked then, with its place in
// the document. An answer depends on the question only: there is no clock, client or state. Objects are
// indexed, not decoded. Expressions see the original objects, and only the fields that an expression names are
// decoded. Changes are patches of the raw text, which preserves unknown fields.
//
// The files are layers, and calls go downwards: program (Compile, Program.Interpret), trace, compile, overlap
// and compilevalues, answer with combine and requirements, value, question, path, view, environment.
// Start reading at Compile and Program.Interpret.
package rule

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Compile compiles documents that apply together, in order. It returns all findings beyond those of the
// documents themselves, and no program if one is more than a warning.
func Compile(documents []*profile.Interpreter) (*Program, source.Findings) {
	scopes, err := theScopes()
	if err != nil {
		return nil, source.Findings{{Message: err.Error(), Rule: source.WrongValue}}
	}
	c := &compiler{scopes: scopes}
	var (
		entries []*kindRules
		known   source.Findings
	)
	for _, d := range documents {
		entries = append(entries, c.document(d)...)
		known = append(known, d.Findings...)
	}
	c.excluded(entries)
	findings := c.findings.Beyond(known)
	findings.Sort()
	if len(findings.Errors())+len(known.Errors()) > 0 {
		return nil, findings
	}
	return newProgram(entries, scopes), findings
}

// Program is the compiled set of rules. It is immutable and safe for concurrent use.
type Program struct {
	entries []*kindRules
	known   []interpreter.Known
	scopes  map[interpreter.Operation]scope
}

// newProgram lists the kinds of the entries, which apply in order.
func newProgram(entries []*kindRules, scopes map[interpreter.Operation]scope) *Program {
	p := &Program{entries: entries, scopes: scopes}
	for _, e := range entries {
		for _, name := range e.kinds {
			kind := interpreter.Kind{Group: e.group, Version: cmp.Or(e.version, "*"), Kind: name}
			if !slices.ContainsFunc(p.known, func(k interpreter.Known) bool { return k.Kind == kind }) {
				supported := slices.DeleteFunc(interpreter.Operations(), func(o interpreter.Operation) bool { return !p.Supports(kind, o) })
				p.known = append(p.known, interpreter.Known{Kind: kind, Operations: supported})
			}
		}
	}
	slices.SortFunc(p.known, func(a, b interpreter.Known) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind.Kind, b.Kind.Kind), cmp.Compare(a.Version, b.Version))
	})
	return p
}

// Environment returns the environment of an operation's expressions, with the variables of forEach or items if needed.
func (p *Program) Environment(o interpreter.Operation, items bool) *expression.Environment {
	if items {
		return p.scopes[o].each
	}
	return p.scopes[o].plain
}

// Kinds returns all kinds with rules, sorted by group, kind and version. An entry for a version includes the
// rules for all versions.
func (p *Program) Kinds() []interpreter.Known { return slices.Clone(p.known) }

// Supports reports whether there are rules for an operation on a kind.
func (p *Program) Supports(kind interpreter.Kind, o interpreter.Operation) bool {
	return len(p.rulesOf(kind, o)) > 0
}

// Knows reports whether there are rules for a kind.
func (p *Program) Knows(kind interpreter.Kind) bool {
	return slices.ContainsFunc(p.entries, func(e *kindRules) bool { return e.has(kind) })
}

// rulesOf returns the rules of an operation for a kind, in order.
func (p *Program) rulesOf(kind interpreter.Kind, o interpreter.Operation) []compiledRule {
	var all []compiledRule
	for _, e := range p.entries {
		if e.has(kind) {
			all = append(all, e.rules[o]...)
		}
	}
	return all
}

// Place is the place of a rule in the profile with a name.
type Place struct {
	Profile string
	source.Place
}

// Places returns the places of the rules of an operation for a kind, in order.
func (p *Program) Places(kind interpreter.Kind, o interpreter.Operation) []Place {
	var all []Place
	for _, r := range p.rulesOf(kind, o) {
		all = append(all, r.Place)
	}
	return all
}

// Interpret answers a question. Errors are *interpreter.Failure. It does not change the objects; the caller
// must not change them during the call.
func (p *Program) Interpret(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
	return p.interpret(ctx, r, nil)
}

func (p *Program) interpret(ctx context.Context, r interpreter.Request, t *tracer) (interpreter.Response, error) {
	rules := p.rulesOf(r.Kind, r.Operation)
	if len(rules) == 0 {
		message := fmt.Sprintf("no profile has rules of %s for %s", r.Operation, r.Kind)
		if !r.Operation.Known() {
			message = fmt.Sprintf("the operation %q is not known", r.Operation)
		}
		return interpreter.Response{}, &interpreter.Failure{Code: interpreter.CodeUnknown, Message: message}
	}
	ctx, end := expression.Limit(ctx)
	defer end()
	q, err := newQuestion(ctx, r)
	defer q.release()
	if err != nil {
		return interpreter.Response{}, err
	}
	q.trace = t
	err = q.evaluateRules(rules)
	t.end(q, err)
	if err != nil {
		return interpreter.Response{}, err
	}
	return q.response, nil
}
