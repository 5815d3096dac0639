// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

// Package mutants_test removes the clauses of the control-plane contract one at a time and checks that the test fails
// which docs/contract.md names for the clause. It mutates every row and every decision of reserved.go, such as its
// prefixes, and every comparison of protect.go and kubelet.go. It does not change the work tree.
package mutants_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"

	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

const folder = "../../pkg/controlplane/contract"

func TestMutants(t *testing.T) { suite.Run(t, "mutants", "slow") }

var _ = Describe("the tests of the contract", func() {
	It("fail if any clause or comparison is removed", func(ctx context.Context) {
		mutants, err := find()
		Expect(err).NotTo(HaveOccurred())
		out, err := run(ctx, ".")
		Expect(err).NotTo(HaveOccurred(), "the tests without a mutant: %s", out)
		survivors := make([]error, len(mutants))
		var group errgroup.Group
		group.SetLimit(runtime.GOMAXPROCS(0))
		for i, m := range mutants {
			temporary := filepath.Join(GinkgoT().TempDir(), "mutant")
			group.Go(func() error {
				if err := m.survives(ctx, temporary); err != nil {
					survivors[i] = fmt.Errorf("%s:%d: without %s: %w", m.file, m.line, m.what, err)
				}
				return nil
			})
		}
		_ = group.Wait()
		AddReportEntry(fmt.Sprintf("%d mutants", len(mutants)))
		Expect(errors.Join(survivors...)).NotTo(HaveOccurred())
	}, SpecTimeout(20*time.Minute))
})

// mutant is a file of the contract without one clause or comparison.
type mutant struct {
	file string
	line int
	what string // the removed text
	text []byte
	// tests is the regular expression of the tests that must fail.
	tests string
}

// survives returns an error if the tests pass with the mutant, or do not compile.
func (m mutant) survives(ctx context.Context, temporary string) error {
	original, err := filepath.Abs(filepath.Join(folder, m.file))
	if err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: temporary + ".go"}})
	if err := errors.Join(err, os.WriteFile(temporary+".go", m.text, 0o600),
		os.WriteFile(temporary+".json", overlay, 0o600)); err != nil {
		return err
	}
	out, err := run(ctx, m.tests, "-failfast", "-overlay", temporary+".json")
	switch {
	case err == nil:
		return fmt.Errorf("%s passes", m.tests)
	case !bytes.Contains(out, []byte("--- FAIL: Test")) && !bytes.Contains(out, []byte("panic: ")):
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// run runs tests of the contract and returns their output.
func run(ctx context.Context, tests string, more ...string) ([]byte, error) {
	arguments := append([]string{"test", "-vet=off", "-run", tests}, more...)
	return exec.CommandContext(ctx, "go", append(arguments, folder)...).CombinedOutput()
}

// find returns all mutants.
func find() ([]mutant, error) {
	f := finder{cited: map[string][]string{}, clauses: map[string]string{}}
	if err := f.readCitations(); err != nil {
		return nil, err
	}
	for _, name := range []string{"reserved.go", "protect.go", "kubelet.go"} {
		if err := f.read(name); err != nil {
			return nil, err
		}
	}
	return f.mutants, errors.Join(f.problems...)
}

// finder finds removable parts of the contract's files.
type finder struct {
	cited   map[string][]string // tests by clause
	clauses map[string]string   // identifiers of clauses by the variables that hold them

	file     string
	source   []byte
	set      *token.FileSet
	mutants  []mutant
	problems []error
}

var (
	statement = regexp.MustCompile("(?m)^- `([^`]+)`.*(?:\n +.*)*")
	citation  = regexp.MustCompile("`contract (Test[^`]+)`")
)

// readCitations finds the tests of the contract that docs/contract.md names, by their clauses.
func (f *finder) readCitations() error {
	page, err := os.ReadFile("../../docs/contract.md")
	for _, found := range statement.FindAllStringSubmatch(string(page), -1) {
		for _, test := range citation.FindAllStringSubmatch(found[0], -1) {
			f.cited[found[1]] = append(f.cited[found[1]], test[1])
		}
	}
	return err
}

var (
	variable = regexp.MustCompile(`(?m)^\s+(\w+)\s+= Clause\{"([^"]+)"`)
	word     = regexp.MustCompile(`Clause\{"[^"]+"|\w+`)
	check    = regexp.MustCompile(`\b(broken|protect|check)\w*\(`)
	refusal  = regexp.MustCompile(`^(return (broken|protect|check)\w*\(|return [\w.]+, true$|\w+ = append\()`)
)

func (f *finder) read(name string) error {
	f.file, f.set = name, token.NewFileSet()
	var err error
	if f.source, err = os.ReadFile(filepath.Join(folder, name)); err != nil {
		return err
	}
	for _, declared := range variable.FindAllSubmatch(f.source, -1) {
		f.clauses[string(declared[1])] = string(declared[2])
	}
	parsed, err := parser.ParseFile(f.set, name, f.source, 0)
	if err != nil {
		return err
	}
	ast.PreorderStack(parsed, nil, func(n ast.Node, above []ast.Node) bool {
		f.visit(n, above)
		return true
	})
	return nil
}

// visit removes an item of a list, an if that refuses something or adds to a list, a condition that is returned or
// assigned, the operands of both, and a final check.
func (f *finder) visit(n ast.Node, above []ast.Node) {
	switch n := n.(type) {
	case *ast.CompositeLit:
		f.items(n, above)
	case *ast.IfStmt:
		if len(n.Body.List) == 1 && (refusal.MatchString(f.textOf(n.Body.List[0])) ||
			n.Init != nil && check.MatchString(f.textOf(n.Init))) {
			f.condition(n.Cond, f.clauseIn(n.Body))
		}
	case *ast.AssignStmt:
		if isCondition(n.Rhs[0]) {
			f.condition(n.Rhs[0], "")
		}
	case *ast.ReturnStmt:
		last := n.Results[len(n.Results)-1]
		_, name := last.(*ast.Ident)
		switch {
		case isCondition(last) || f.file == "reserved.go" && !name:
			f.condition(last, f.clauseIn(n))
		case len(n.Results) == 1 && !strings.HasPrefix(f.textOf(last), "broken") && check.MatchString(f.textOf(last)):
			f.add(last, f.replaced(n, "_ = "+f.textOf(last)+"; return nil"), "")
		}
	}
}

// removed matches the mark of a removed item, with its comma.
var removed = regexp.MustCompile("\x00,?")

// items removes every item of a list. Its clause is that of the item, or of the row that contains the list.
func (f *finder) items(list *ast.CompositeLit, above []ast.Node) {
	if !isList(list) {
		return
	}
	around := ""
	for _, outer := range above {
		if row, ok := outer.(*ast.CompositeLit); ok && !isList(row) {
			around = f.clauseIn(row)
		}
	}
	for _, item := range list.Elts {
		clause := around
		switch item.(type) {
		case *ast.CompositeLit:
			clause = f.clauseIn(item)
		case *ast.Ident:
			if f.file != "reserved.go" {
				continue
			}
		}
		f.add(item, removed.ReplaceAll(f.replaced(item, "\x00"), nil), clause)
	}
}

// isList reports whether a literal is a slice.
func isList(list *ast.CompositeLit) bool {
	_, ok := list.Type.(*ast.ArrayType)
	return ok
}

// clauseIn returns the first clause that a part of the source names, or "".
func (f *finder) clauseIn(n ast.Node) string {
	for _, name := range word.FindAllString(f.textOf(n), -1) {
		if id, ok := strings.CutPrefix(name, `Clause{"`); ok {
			return strings.TrimSuffix(id, `"`)
		}
		if id := f.clauses[name]; id != "" {
			return id
		}
	}
	return ""
}

// condition removes a condition, and each operand of an "or" in it.
func (f *finder) condition(e ast.Expr, clause string) {
	f.add(e, f.replaced(e, "false && ("+f.textOf(e)+")"), clause)
	ast.Inspect(e, func(n ast.Node) bool {
		if binary, ok := n.(*ast.BinaryExpr); ok && binary.Op == token.LOR {
			f.add(binary.X, f.replaced(binary.X, "false && "+f.textOf(binary.X)), clause)
			f.add(binary.Y, f.replaced(binary.Y, "false && "+f.textOf(binary.Y)), clause)
		}
		_, function := n.(*ast.FuncLit) // its returns are separate decisions
		return !function
	})
}

// isCondition reports whether an expression is a comparison, or connects several.
func isCondition(e ast.Expr) bool {
	binary, ok := e.(*ast.BinaryExpr)
	return ok && (binary.Op == token.LOR || binary.Op == token.LAND || binary.Op == token.EQL)
}

// add adds a mutant. clause is "" if several clauses are affected; a test of any clause must fail then.
func (f *finder) add(n ast.Node, text []byte, clause string) {
	at, tests := f.set.Position(n.Pos()), f.cited[clause]
	if clause == "" {
		for _, more := range f.cited {
			tests = append(tests, more...)
		}
	}
	if len(tests) == 0 {
		f.problems = append(f.problems,
			fmt.Errorf("%s: docs/contract.md names no test of the package contract for %s", at, clause))
	}
	what, _, _ := strings.Cut(f.textOf(n), "\n")
	f.mutants = append(f.mutants, mutant{f.file, at.Line, what, text, pattern(tests)})
}

// pattern returns the regular expression of the tests. For several test functions it selects whole functions.
func pattern(tests []string) string {
	if len(tests) == 1 {
		parts := strings.Split(strings.ReplaceAll(tests[0], " ", "_"), "/")
		for i := range parts {
			parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
		}
		return strings.Join(parts, "/")
	}
	var functions []string
	for _, test := range tests {
		name, _, _ := strings.Cut(test, "/")
		functions = append(functions, name)
	}
	slices.Sort(functions)
	return "^(" + strings.Join(slices.Compact(functions), "|") + ")$"
}

func (f *finder) textOf(n ast.Node) string {
	return string(f.source[f.set.Position(n.Pos()).Offset:f.set.Position(n.End()).Offset])
}

// replaced returns the file with a node replaced.
func (f *finder) replaced(n ast.Node, text string) []byte {
	return slices.Concat(f.source[:f.set.Position(n.Pos()).Offset], []byte(text),
		f.source[f.set.Position(n.End()).Offset:])
}
