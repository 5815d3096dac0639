// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	luaparse "github.com/yuin/gopher-lua/parse"
)

// script is the function of a script during its conversion.
type script struct {
	body   []ast.Stmt
	locals map[string]value
	// returned is called for each return, unless it is nil, and assigned for each assignment to a field of an object, with
	// the conditions on it.
	returned func(conditions []string, values []value) error
	assigned func(conditions []string, to, what value) error
	// set is called for each assignment to a variable in a loop.
	set func(conditions []string, name string, v value) error
	// guards is the variable that fields are copied from. Conditions that test if its fields exist are dropped,
	// because a missing field is not copied anyway.
	guards string
}

// unsupported is the error for a form that cannot be converted.
type unsupported struct {
	line int
	what string
}

// Error implements error, with the line in the script.
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
			values, err := s.values(statement.Exprs)
			if err != nil || s.returned == nil {
				return err
			}
			return s.returned(conditions, values)
		case *ast.BreakStmt:
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
	values, err := s.values(statement.Exprs)
	for i, name := range statement.Names {
		s.locals[name] = value{cel: "null"}
		if i < len(values) {
			s.locals[name] = values[i]
		}
	}
	return err
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
		if s.set != nil {
			return s.set(conditions, name.Value, what)
		}
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

// value is the meaning of an expression in a script: a field of an object, the requirements of a Pod template,
// a table that is being filled, or an expression in CEL.
type value struct {
	path      []string // the variable and the fields below it
	otherwise string   // the default in CEL if the path is missing; "" for null
	template  []string // the path of a Pod template
	table     bool
	cel       string
}

var plainField = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// optional returns a path in CEL as an optional value.
func optional(path []string) string {
	var b strings.Builder
	b.WriteString(path[0])
	for _, field := range path[1:] {
		if plainField.MatchString(field) {
			b.WriteString(".?" + field)
		} else {
			b.WriteString("[?" + strconv.Quote(field) + "]")
		}
	}
	return b.String()
}

// or returns a value in CEL, with a default for a path that is missing.
func (v value) or(otherwise string) string {
	if len(v.path) < 2 {
		if v.cel == "" && len(v.path) == 1 {
			return v.path[0]
		}
		return v.cel
	}
	if v.otherwise != "" {
		otherwise = v.otherwise
	}
	return optional(v.path) + ".orValue(" + otherwise + ")"
}

// values reads some expressions.
func (s *script) values(expressions []ast.Expr) ([]value, error) {
	all := make([]value, len(expressions))
	for i, e := range expressions {
		var err error
		if all[i], err = s.value(e); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// value reads an expression.
func (s *script) value(e ast.Expr) (value, error) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if v, ok := s.locals[e.Value]; ok {
			return v, nil
		}
		return value{path: []string{e.Value}}, nil
	case *ast.AttrGetExpr:
		return s.field(e)
	case *ast.NumberExpr:
		return value{cel: e.Value}, nil
	case *ast.StringExpr:
		return value{cel: strconv.Quote(e.Value)}, nil
	case *ast.TrueExpr:
		return value{cel: "true"}, nil
	case *ast.FalseExpr:
		return value{cel: "false"}, nil
	case *ast.NilExpr:
		return value{cel: "null"}, nil
	case *ast.TableExpr:
		if len(e.Fields) == 0 {
			return value{table: true}, nil
		}
	case *ast.FuncCallExpr:
		return s.call(e)
	case *ast.ArithmeticOpExpr:
		sides, err := s.values([]ast.Expr{e.Lhs, e.Rhs})
		if err != nil {
			return value{}, err
		}
		return value{cel: "(" + sides[0].or("0") + " " + e.Operator + " " + sides[1].or("0") + ")"}, nil
	case *ast.LogicalOpExpr:
		return s.logical(e)
	case *ast.RelationalOpExpr:
		return s.comparison(e)
	case *ast.UnaryNotOpExpr:
		condition, err := s.condition(e.Expr)
		return value{cel: "!(" + condition + ")"}, err
	}
	return value{}, unsupported{e.Line(), "this expression"}
}

// field reads a field of an object or of a table.
func (s *script) field(e *ast.AttrGetExpr) (value, error) {
	of, err := s.value(e.Object)
	if err != nil {
		return value{}, err
	}
	if key, ok := e.Key.(*ast.StringExpr); ok && (len(of.path) > 0 || of.table) {
		path := of.path
		if of.table {
			path = []string{"table"}
		}
		return value{path: append(path[:len(path):len(path)], key.Value)}, nil
	}
	// This is the item of the list of a loop.
	if index, ok := e.Key.(*ast.IdentExpr); ok && len(of.path) > 1 {
		if item, ok := s.locals[index.Value]; ok && item.cel == optional(of.path) {
			return value{path: []string{"item"}}, nil
		}
	}
	return value{}, unsupported{e.Line(), "this index"}
}

// call reads the calls that are known: of Karmada's library, and of Lua's.
func (s *script) call(e *ast.FuncCallExpr) (value, error) {
	name := callee(e)
	switch {
	case name == "require":
		return value{path: []string{"library"}}, nil
	case name == "accuratePodRequirements" && len(e.Args) == 1:
		template, err := s.value(e.Args[0])
		if err == nil && len(template.path) > 1 {
			return value{template: template.path}, nil
		}
	}
	return value{}, unsupported{e.Line(), "the call of " + name}
}

// callee returns the name of a function that is called, without that of its library.
func callee(e *ast.FuncCallExpr) string {
	switch f := e.Func.(type) {
	case *ast.IdentExpr:
		return f.Value
	case *ast.AttrGetExpr:
		if key, ok := f.Key.(*ast.StringExpr); ok {
			return key.Value
		}
	}
	return ""
}

// logical reads two conditions.
func (s *script) logical(e *ast.LogicalOpExpr) (value, error) {
	a, err := s.condition(e.Lhs)
	if err != nil {
		return value{}, err
	}
	b, err := s.condition(e.Rhs)
	if e.Operator == "or" {
		return value{cel: "(" + a + " || " + b + ")"}, err
	}
	return value{cel: a + " && " + b}, err
}

// condition reads an expression that is true or false.
func (s *script) condition(e ast.Expr) (string, error) {
	v, err := s.value(e)
	switch {
	case err != nil:
		return "", err
	case len(v.path) > 1:
		return "!(" + v.or("null") + " in [null, false])", nil
	case v.cel == "" || v.cel == "null":
		return "", unsupported{e.Line(), "this condition"}
	}
	return v.cel, nil
}

// comparison reads a comparison. A missing field is equal to nothing but nil, as in Lua.
func (s *script) comparison(e *ast.RelationalOpExpr) (value, error) {
	sides, err := s.values([]ast.Expr{e.Lhs, e.Rhs})
	if err != nil {
		return value{}, err
	}
	a, b, operator, otherwise := sides[0], sides[1], e.Operator, "0"
	if operator == "~=" {
		operator = "!="
	}
	if operator == "==" || operator == "!=" {
		otherwise = "null"
	}
	if b.cel == "null" && len(a.path) > 1 && a.otherwise == "" {
		exists := optional(a.path) + ".hasValue()"
		if operator == "==" {
			exists = "!" + exists
		}
		return value{cel: exists}, nil
	}
	left, right := a.or(otherwise), b.or(otherwise)
	if left == "" || right == "" {
		return value{}, unsupported{e.Line(), "this comparison"}
	}
	return value{cel: left + " " + operator + " " + right}, nil
}
