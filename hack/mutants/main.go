// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command mutants removes the clauses of the control-plane contract one at a time and checks that the test
// fails which docs/contract.md names for the clause. It mutates every row and every decision of reserved.go, such
// as its prefixes, and every comparison of protect.go and kubelet.go. It does not change the work tree. `make
// mutants` runs it. Usage: mutants, in the repository's root.
package main

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
	"strconv"
	"strings"
	"sync"
)

const folder = "pkg/controlplane/contract"

func main() {
	mutants, err := find()
	if err == nil {
		err = run(context.Background(), mutants)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// mutant is a file of the contract without one clause or comparison.
type mutant struct {
	file string
	line int
	what string // the removed text
	text []byte
	// tests is the regular expression of the tests that must fail.
	tests string
}

// run tests all mutants. It fails unless each is caught.
func run(ctx context.Context, mutants []mutant) error {
	temporary, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	if out, err := test(ctx, ".", "", nil); err != nil {
		return fmt.Errorf("the tests fail without a mutant: %w\n%s", err, out)
	}
	problems := make([]error, len(mutants))
	var group sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, m := range mutants {
		free <- struct{}{}
		group.Go(func() {
			problems[i] = m.survives(ctx, filepath.Join(temporary, strconv.Itoa(i)))
			<-free
		})
	}
	group.Wait()
	survivors := slices.DeleteFunc(problems, func(err error) bool { return err == nil })
	fmt.Printf("%d mutants, %d caught\n", len(mutants), len(mutants)-len(survivors))
	return errors.Join(survivors...)
}

// survives returns an error if the tests pass with the mutant, or do not compile.
func (m mutant) survives(ctx context.Context, temporary string) error {
	where := fmt.Sprintf("%s:%d: without %s", m.file, m.line, m.what)
	overlay, err := m.overlay(temporary)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	out, err := test(ctx, m.tests, overlay, []string{"-failfast"})
	switch {
	case err == nil:
		return fmt.Errorf("%s, %s passes", where, m.tests)
	case !bytes.Contains(out, []byte("--- FAIL: Test")) && !bytes.Contains(out, []byte("panic: ")):
		return fmt.Errorf("%s: %w\n%s", where, err, out)
	}
	return nil
}

// overlay writes the mutant and the overlay file for go test.
func (m mutant) overlay(temporary string) (string, error) {
	original, err := filepath.Abs(filepath.Join(folder, m.file))
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{original: temporary + ".go"}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(temporary+".go", m.text, 0o600); err != nil {
		return "", err
	}
	return temporary + ".json", os.WriteFile(temporary+".json", data, 0o600)
}

func test(ctx context.Context, tests, overlay string, more []string) ([]byte, error) {
	arguments := append([]string{"test", "-vet=off", "-run", tests}, more...)
	if overlay != "" {
		arguments = append(arguments, "-overlay", overlay)
	}
	return exec.CommandContext(ctx, "go", append(arguments, "./"+folder)...).CombinedOutput()
}

// find returns all mutants.
func find() ([]mutant, error) {
	cited, err := citations()
	if err != nil {
		return nil, err
	}
	f := finder{cited: cited, clauses: map[string]string{}}
	for _, name := range []string{"reserved.go", "protect.go", "kubelet.go"} {
		if err := f.read(name); err != nil {
			return nil, err
		}
	}
	return f.mutants, errors.Join(f.problems...)
}

var (
	row      = regexp.MustCompile(`(?m)^\| ([^ |]+) \|.*\| ([^|]*) \|$`)
	citation = regexp.MustCompile("`contract (Test[^`]+)`")
)

// citations returns the tests of the contract that docs/contract.md names, by their clauses.
func citations() (map[string][]string, error) {
	page, err := os.ReadFile("docs/contract.md")
	if err != nil {
		return nil, err
	}
	cited := map[string][]string{}
	for _, cells := range row.FindAllStringSubmatch(string(page), -1) {
		for _, test := range citation.FindAllStringSubmatch(cells[2], -1) {
			cited[cells[1]] = append(cited[cells[1]], test[1])
		}
	}
	return cited, nil
}

// finder finds removable parts of the contract's files.
type finder struct {
	cited   map[string][]string
	clauses map[string]string // identifiers of clauses that are variables

	file     string
	source   []byte
	set      *token.FileSet
	mutants  []mutant
	problems []error
}

func (f *finder) read(name string) error {
	f.file, f.set = name, token.NewFileSet()
	var err error
	if f.source, err = os.ReadFile(filepath.Join(folder, name)); err != nil {
		return err
	}
	parsed, err := parser.ParseFile(f.set, name, f.source, 0)
	if err != nil {
		return err
	}
	inspect := f.comparison
	if name == "reserved.go" {
		f.rows(parsed)
		inspect = f.decision
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		inspect(n)
		return true
	})
	return nil
}

// rows removes every item of the lists in reserved.go, including flags in rows.
func (f *finder) rows(file *ast.File) {
	var lists []*ast.CompositeLit
	ast.Inspect(file, func(n ast.Node) bool {
		if value, ok := n.(*ast.ValueSpec); ok && len(value.Values) == 1 {
			if id := idOf(value.Values[0]); id != "" {
				f.clauses[value.Names[0].Name] = id
			}
		}
		if list, ok := n.(*ast.CompositeLit); ok && isList(list) {
			lists = append(lists, list)
		}
		return true
	})
	for _, list := range lists {
		clause := ""
		ast.Inspect(file, func(n ast.Node) bool { // the innermost row around the list
			if outer, ok := n.(*ast.CompositeLit); ok && !isList(outer) && outer.Pos() < list.Pos() && list.End() <= outer.End() {
				clause = f.clauseIn(outer)
			}
			return true
		})
		for _, item := range list.Elts {
			of := clause
			if row, ok := item.(*ast.CompositeLit); ok {
				of = f.clauseIn(row)
			}
			f.add(item, f.without(item), of)
		}
	}
}

// isList reports whether a literal is a slice.
func isList(list *ast.CompositeLit) bool {
	_, ok := list.Type.(*ast.ArrayType)
	return ok && len(list.Elts) > 0
}

// clauseIn returns the clause of a row: a literal in it, or a variable; "" for none.
func (f *finder) clauseIn(row *ast.CompositeLit) string {
	for _, value := range row.Elts {
		if id := idOf(value); id != "" {
			return id
		}
		if name, ok := value.(*ast.Ident); ok && name.Name != "nil" && !strings.HasSuffix(name.Name, "Flags") || ok && f.clauses[name.Name] != "" {
			return name.Name
		}
	}
	return ""
}

// idOf returns the name of the clause that an expression creates.
func idOf(e ast.Expr) string {
	made, ok := e.(*ast.CompositeLit)
	if !ok || len(made.Elts) == 0 {
		return ""
	}
	kind, ok := made.Type.(*ast.Ident)
	id, isText := made.Elts[0].(*ast.BasicLit)
	if !ok || kind.Name != "Clause" || !isText {
		return ""
	}
	text, _ := strconv.Unquote(id.Value)
	return text
}

// decision removes the condition with which a function of reserved.go returns a clause, and its operands.
func (f *finder) decision(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		if results := returned(n.Body); len(results) == 2 && f.textOf(results[1]) == "true" {
			f.condition(n.Cond, nameOf(results[0]))
		}
	case *ast.ReturnStmt:
		if last := n.Results[len(n.Results)-1]; nameOf(last) == "" {
			f.condition(last, nameOf(n.Results[0]))
		}
	}
}

// comparison removes an if that refuses something, a condition that is returned or assigned, the operands of both,
// and final checks.
func (f *finder) comparison(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		if clause, refuses := refusal(n); refuses || isAppend(n.Body) {
			f.condition(n.Cond, clause)
		}
	case *ast.AssignStmt:
		if isCondition(n.Rhs[0]) {
			f.condition(n.Rhs[0], "")
		}
	case *ast.ReturnStmt:
		switch {
		case len(n.Results) != 1:
		case isCheck(n.Results[0]):
			f.add(n.Results[0], f.replaced(n, "_ = "+f.textOf(n.Results[0])+"; return nil"), "")
		case isCondition(n.Results[0]):
			f.condition(n.Results[0], "")
		}
	case *ast.CompositeLit:
		for _, item := range n.Elts {
			if _, variable := item.(*ast.Ident); !variable && isList(n) {
				f.add(item, f.without(item), "")
			}
		}
	}
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

// isAppend reports whether a block only adds to a list.
func isAppend(body *ast.BlockStmt) bool {
	if len(body.List) != 1 {
		return false
	}
	assigned, ok := body.List[0].(*ast.AssignStmt)
	if !ok {
		return false
	}
	call, ok := assigned.Rhs[0].(*ast.CallExpr)
	return ok && nameOf(call.Fun) == "append"
}

// returned returns the results of the return that ends a block.
func returned(body *ast.BlockStmt) []ast.Expr {
	var results []ast.Expr
	for _, statement := range body.List {
		if last, ok := statement.(*ast.ReturnStmt); ok {
			results = last.Results
		}
	}
	return results
}

// nameOf returns the name of an identifier, or "".
func nameOf(e ast.Expr) string {
	name, ok := e.(*ast.Ident)
	if !ok {
		return ""
	}
	return name.Name
}

// refusal reports whether an if statement ends in a refusal, and returns the variable of its clause.
func refusal(n *ast.IfStmt) (clause string, ok bool) {
	if len(n.Body.List) != 1 {
		return "", false
	}
	returned, ok := n.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(returned.Results) != 1 {
		return "", false
	}
	if call, ok := returned.Results[0].(*ast.CallExpr); ok {
		name, _ := call.Fun.(*ast.Ident)
		if name == nil || name.Name != "broken" {
			return "", isCheck(call)
		}
		clause, _ := call.Args[0].(*ast.Ident)
		return clause.Name, true
	}
	checked, isAssignment := n.Init.(*ast.AssignStmt)
	return "", isAssignment && isCheck(checked.Rhs[0])
}

// isCheck reports whether an expression is a call of a function that checks something.
func isCheck(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	return ok && (strings.HasPrefix(name.Name, "protect") || strings.HasPrefix(name.Name, "check"))
}

// add adds a mutant. clause is the name of the clause or of its variable, or "" if several clauses are
// affected.
func (f *finder) add(n ast.Node, text []byte, clause string) {
	at := f.set.Position(n.Pos())
	if id := f.clauses[clause]; id != "" {
		clause = id
	}
	tests := f.cited[clause]
	if strings.Contains(clause, "/") && len(tests) == 0 {
		f.problems = append(f.problems, fmt.Errorf("%s: docs/contract.md names no test of the package contract for %s", at, clause))
	}
	if !strings.Contains(clause, "/") {
		for _, more := range f.cited {
			tests = append(tests, more...)
		}
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

func (f *finder) offsets(n ast.Node) (from, to int) {
	return f.set.Position(n.Pos()).Offset, f.set.Position(n.End()).Offset
}

func (f *finder) textOf(n ast.Node) string {
	from, to := f.offsets(n)
	return string(f.source[from:to])
}

// replaced returns the file with a node replaced.
func (f *finder) replaced(n ast.Node, text string) []byte {
	from, to := f.offsets(n)
	return slices.Concat(f.source[:from], []byte(text), f.source[to:])
}

// without returns the file without a list item and its comma.
func (f *finder) without(n ast.Node) []byte {
	from, to := f.offsets(n)
	rest := bytes.TrimPrefix(f.source[to:], []byte(","))
	return slices.Concat(f.source[:from], rest)
}
