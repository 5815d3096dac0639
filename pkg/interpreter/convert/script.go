// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	luaparse "github.com/yuin/gopher-lua/parse"
)

// script is the function of a script during its conversion.
type script struct {
	body   []ast.Stmt
	locals map[string]value
	// returned is called for each return, and assigned for each assignment to a field of an object, with the
	// conditions on it.
	returned func(conditions []string, values []value) error
	assigned func(conditions []string, to, what value) error
	// guards is the variable that fields are copied from. Conditions that test if its fields exist are dropped,
	// because a missing field is not copied anyway.
	guards string
}

// unsupported is the error for a form that cannot be converted.
type unsupported struct {
	line int
	what string
}

func (u unsupported) Error() string {
	return fmt.Sprintf("line %d: %s: not converted; write its rules by hand", u.line, u.what)
}

// parse parses the last function of a script, and names its parameters.
func parse(text string, names []string) (*script, error) {
	statements, err := luaparse.Parse(strings.NewReader(text), "script")
	if err != nil {
		return nil, fmt.Errorf("the script cannot be read: %w", err)
	}
	for _, statement := range slices.Backward(statements) {
		if f, ok := statement.(*ast.FuncDefStmt); ok {
			s := &script{body: f.Func.Stmts, locals: map[string]value{}}
			for i, name := range f.Func.ParList.Names[:min(len(names), len(f.Func.ParList.Names))] {
				s.locals[name] = value{path: []string{names[i]}}
			}
			return s, nil
		}
	}
	return nil, unsupported{1, "a script without a function"}
}

// follow follows statements under conditions, to the first return.
func (s *script) follow(statements []ast.Stmt, conditions []string) error {
	for _, statement := range statements {
		var err error
		switch statement := statement.(type) {
		case *ast.LocalAssignStmt:
			err = s.local(statement)
		case *ast.AssignStmt:
			err = s.assign(statement, conditions)
		case *ast.IfStmt:
			err = s.branch(statement, conditions)
		case *ast.NumberForStmt, *ast.GenericForStmt:
			err = s.loop(statement, conditions)
		case *ast.ReturnStmt:
			var values []value
			for _, e := range statement.Exprs {
				v, err := s.value(e)
				if err != nil {
					return err
				}
				values = append(values, v)
			}
			return s.returned(conditions, values)
		default:
			err = unsupported{statement.Line(), "this statement"}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// local evaluates the declaration of local variables.
func (s *script) local(statement *ast.LocalAssignStmt) error {
	for i, name := range statement.Names {
		s.locals[name] = value{cel: "null"}
		if i < len(statement.Exprs) {
			v, err := s.value(statement.Exprs[i])
			if err != nil {
				return err
			}
			s.locals[name] = v
		}
	}
	return nil
}

// assign follows an assignment to one variable or field.
func (s *script) assign(statement *ast.AssignStmt, conditions []string) error {
	if len(statement.Lhs) != 1 || len(statement.Rhs) != 1 {
		return unsupported{statement.Line(), "an assignment to several variables"}
	}
	what, err := s.value(statement.Rhs[0])
	if err != nil {
		return err
	}
	if name, ok := statement.Lhs[0].(*ast.IdentExpr); ok {
		if len(conditions) > 0 {
			return unsupported{statement.Line(), "a variable that is set in some cases only"}
		}
		s.locals[name.Value] = what
		return nil
	}
	to, err := s.value(statement.Lhs[0])
	if err != nil {
		return err
	}
	if s.assigned == nil || len(to.path) < 2 {
		return unsupported{statement.Line(), "an assignment to a field"}
	}
	if err := s.assigned(conditions, to, what); err != nil {
		return unsupported{statement.Line(), err.Error()}
	}
	return nil
}

// branch follows an if statement. A statement that only replaces nil by a constant becomes a default.
func (s *script) branch(statement *ast.IfStmt, conditions []string) error {
	if name, otherwise, ok := s.defaulted(statement); ok {
		v := s.locals[name]
		v.otherwise = otherwise
		s.locals[name] = v
		return nil
	}
	condition, err := s.condition(statement.Condition)
	if err != nil {
		return err
	}
	with := slices.Concat(conditions, []string{condition})
	if s.isGuard(condition) {
		with = conditions
	}
	if err := s.follow(statement.Then, with); err != nil {
		return err
	}
	return s.follow(statement.Else, slices.Concat(conditions, []string{"!(" + condition + ")"}))
}

// isGuard reports whether a condition only tests that copied fields exist.
func (s *script) isGuard(condition string) bool {
	if s.guards == "" {
		return false
	}
	for _, part := range strings.Split(condition, " && ") {
		if !strings.HasPrefix(part, s.guards+".") || !strings.HasSuffix(part, ".hasValue()") || strings.Contains(part, " ") {
			return false
		}
	}
	return true
}

// defaulted finds `if x == nil then x = constant end`.
func (s *script) defaulted(statement *ast.IfStmt) (name, otherwise string, ok bool) {
	compared, is := statement.Condition.(*ast.RelationalOpExpr)
	if !is || compared.Operator != "==" || len(statement.Then) != 1 || len(statement.Else) != 0 {
		return "", "", false
	}
	variable, is1 := compared.Lhs.(*ast.IdentExpr)
	_, is2 := compared.Rhs.(*ast.NilExpr)
	assigned, is3 := statement.Then[0].(*ast.AssignStmt)
	if !is1 || !is2 || !is3 || len(assigned.Lhs) != 1 || len(assigned.Rhs) != 1 || len(s.locals[variable.Value].path) == 0 {
		return "", "", false
	}
	to, is := assigned.Lhs[0].(*ast.IdentExpr)
	constant, err := s.value(assigned.Rhs[0])
	if !is || to.Value != variable.Value || err != nil || constant.cel == "" || constant.cel == "null" {
		return "", "", false
	}
	return variable.Value, constant.cel, true
}
