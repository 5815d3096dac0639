// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

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
		a, err := s.value(e.Lhs)
		if err != nil {
			return value{}, err
		}
		b, err := s.value(e.Rhs)
		return value{cel: "(" + a.or("0") + " " + e.Operator + " " + b.or("0") + ")"}, err
	case *ast.LogicalOpExpr, *ast.RelationalOpExpr, *ast.UnaryNotOpExpr:
		condition, err := s.condition(e)
		return value{cel: condition}, err
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
	name := ""
	switch f := e.Func.(type) {
	case *ast.IdentExpr:
		name = f.Value
	case *ast.AttrGetExpr:
		if key, ok := f.Key.(*ast.StringExpr); ok {
			name = key.Value
		}
	}
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

// celOperators maps operators of Lua to those of CEL, if they differ.
var celOperators = map[string]string{"and": "&&", "or": "||", "~=": "!="}

// condition reads an expression that is true or false.
func (s *script) condition(e ast.Expr) (string, error) {
	switch e := e.(type) {
	case *ast.LogicalOpExpr:
		a, err := s.condition(e.Lhs)
		if err != nil {
			return "", err
		}
		b, err := s.condition(e.Rhs)
		if e.Operator == "or" {
			return "(" + a + " || " + b + ")", err
		}
		return a + " && " + b, err
	case *ast.UnaryNotOpExpr:
		condition, err := s.condition(e.Expr)
		return "!(" + condition + ")", err
	case *ast.RelationalOpExpr:
		return s.comparison(e)
	}
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
func (s *script) comparison(e *ast.RelationalOpExpr) (string, error) {
	a, err := s.value(e.Lhs)
	if err != nil {
		return "", err
	}
	b, err := s.value(e.Rhs)
	if err != nil {
		return "", err
	}
	operator, otherwise := e.Operator, "0"
	if other, ok := celOperators[operator]; ok {
		operator = other
	}
	if operator == "==" || operator == "!=" {
		otherwise = "null"
	}
	if b.cel == "null" && len(a.path) > 1 && a.otherwise == "" {
		if operator == "==" {
			return "!" + optional(a.path) + ".hasValue()", nil
		}
		return optional(a.path) + ".hasValue()", nil
	}
	left, right := a.or(otherwise), b.or(otherwise)
	if left == "" || right == "" {
		return "", unsupported{e.Line(), "this comparison"}
	}
	return left + " " + operator + " " + right, nil
}
