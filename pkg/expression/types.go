// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Tree is a compiled YAML value: JSON with some strings to compute. Members keep the order of the file. A nil Tree has
// no members and no references.
type Tree struct {
	literal  []byte
	template *Template
	list     bool
	keys     []string // of a mapping
	children []*Tree
}

// Expression is a compiled condition.
type Expression struct {
	program *compiledExpression
}

// Template is a compiled string that may hold expressions.
type Template struct {
	segments []segment
	// whole is set when the text is one expression and nothing else: then the result has the type of the expression.
	whole *compiledExpression
	// value is the result when it is always the same.
	value ref.Val
}

// segment is literal text or an expression.
type segment struct {
	literal string
	program *compiledExpression
}

// At returns the position of the first character of a YAML scalar's text: after the quote, or in the line after the |
// of a block scalar, with an unknown column.
func At(n source.Node) source.Position {
	p := n.Position()
	if n.Node == nil {
		return p
	}
	switch {
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		p.Column++
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		p.Line, p.Column = p.Line+1, 0
	}
	return p
}

// The rules of expressions.
const (
	// SyntaxError is a text that is no CEL, or an expression that has no end.
	SyntaxError source.LintRule = "expression-syntax"
	// UnknownName is a variable, a field or a function that does not exist.
	UnknownName source.LintRule = "unknown-name"
	// WrongResult is an expression with types that do not match, inside or in its place.
	WrongResult source.LintRule = "expression-type"
	// WrongCondition is a condition that is no expression in braces.
	WrongCondition source.LintRule = "condition-form"
	// TooCostly is an expression that may take too long.
	TooCostly source.LintRule = "expression-cost"
	// FailingConstant is an expression without variables that has no result.
	FailingConstant source.LintRule = "expression-fails"
)

func literalString(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// selection returns the part from which another part selects a member, and its key: .key, .?key, ["key"] or [?"key"].
// The operand is nil for other parts, and the key is empty if it is no literal text.
func selection(e ast.Expr) (operand ast.Expr, key string) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().Operand(), e.AsSelect().FieldName()
	case ast.CallKind:
		switch call := e.AsCall(); call.FunctionName() {
		case operators.OptSelect, operators.Index, operators.OptIndex:
			key, _ = literalString(call.Args()[1])
			return call.Args()[0], key
		}
	}
	return nil, ""
}

// ObjectType is a type with named, typed fields. A field that it does not declare is an error when an expression is compiled.
type ObjectType struct {
	name   string
	cel    *cel.Type
	fields map[string]*types.FieldType
	nested []*ObjectType
}

// typeProvider resolves the fields of ObjectTypes.
type typeProvider struct {
	types.Provider
	objects map[string]*ObjectType
}

// piece is a part of a template: literal text, or the text of an expression without its braces.
type piece struct {
	text       string
	expression bool
	// offset is where the text begins in the template, in bytes.
	offset int
}

// origin is the position of a text's first character, which may be partly unknown.
type origin struct {
	at   source.Position
	text string
}

// Variable is a name that expressions may use.
type Variable struct {
	// Name is a CEL identifier.
	Name string
	// Type is the type of the values; nil means the type of Object.
	Type *cel.Type
	// Object declares the object type in Type, for variables with fields.
	Object *ObjectType
	// Keys are all keys that a map can have, if they are known: any other literal key is then an error.
	Keys []string
}

// Environment compiles expressions over a fixed set of variables. It is immutable and safe for concurrent use.
type Environment struct {
	env       *cel.Env
	types     *typeProvider
	variables map[string]Variable
	// elsewhere are variables that expressions of other places see, and where that is.
	elsewhere map[string]string
}

// Limits of computed values. Sizes are in bytes: a text or bytes count their length plus itemSize, every other scalar,
// list and map counts itemSize, and a list or a map also counts its content.
const (
	// maximumValue is the size of one value. No object can hold a larger one: etcd accepts 1.5 MiB by default.
	maximumValue = 4 << 20
	// maximumTogether is the size of all values that are computed for one request.
	maximumTogether = 8 << 20
	// maximumNesting is how many loops over computed lists may be inside of each other.
	maximumNesting = 2
	// maximumCost is the cost in CEL's units of about 50 ns that Kubernetes allows for one expression
	// (k8s.io/apiserver/pkg/apis/cel, PerCallLimit). A call that compares all items with each other may cost as much.
	maximumCost = 1_000_000
	// maximumActualCost is the cost of one evaluation.
	maximumActualCost = 4 * maximumCost
	// maximumCostTogether is the cost of all evaluations for one request, as Kubernetes allows it for the expressions of one
	// admission (k8s.io/apiserver/pkg/apis/cel, RuntimeCELCostBudget).
	maximumCostTogether = 10 * maximumCost
	// maximumPartialCost is the cost of all evaluations that check a loaded document for versions and constants.
	maximumPartialCost = 50 * maximumCost
	// maximumParsed is the length of a text that is parsed as a version, a version constraint, a quantity or a regular
	// expression. Parsing takes many times the length in memory, or its square in time.
	maximumParsed = 4 << 10
	// maximumPattern is the size of a regular expression in characters, with its repetitions written out: each becomes an
	// instruction.
	maximumPattern = 10_000
	// unqueued is the size of the values that a request may compute without waiting for one of the places for large ones.
	unqueued = 512 << 10
	// largeRequests is how many requests may compute large values at a time, so that ten of them take no more memory than two.
	largeRequests = 2

	itemSize = 16
)

var (
	errTooLarge = safeError(fmt.Sprintf("the value is too large: at most %d MiB are allowed", maximumValue>>20))
	errTooMuch  = safeError(fmt.Sprintf("all values that are computed for one request are too large together: at most %d MiB are allowed",
		maximumTogether>>20))
	errTooLong    = safeError(fmt.Sprintf("the text is too long to be parsed: at most %d bytes are allowed", maximumParsed))
	errTooComplex = safeError(fmt.Sprintf("the regular expression is too large: at most %d characters are allowed, "+
		"with its repetitions written out", maximumPattern))
	errTooCostly = safeError(fmt.Sprintf("the evaluation is too costly: a cost of at most %d is allowed, "+
		"and %d for all evaluations of one request", maximumActualCost, maximumCostTogether))
)

// compiledExpression is one compiled expression.
type compiledExpression struct {
	origin     origin
	offset     int // of the expression in the origin's text, in bytes
	ast        *cel.Ast
	run        cel.Program
	result     *cel.Type
	references []string
	value      ref.Val // when the expression names no variable
	limited    bool    // whether the expression has steps that count sizes and costs
	step       uint64  // the cost of a step of its comprehensions, without that of calls that are counted; 0: it has none

	environment *Environment
}

// safeError is an error with a displayable text, because it contains no value.
type safeError string

// brief lists the functions whose time hardly depends on the size of their arguments, and that return one of them, a part
// of one, or a value of a fixed size.
var brief = map[string]bool{
	operators.LogicalAnd: true, operators.LogicalOr: true, operators.LogicalNot: true, operators.NotStrictlyFalse: true, operators.Conditional: true,
	operators.Less: true, operators.LessEquals: true, operators.Greater: true, operators.GreaterEquals: true,
	operators.Negate: true, operators.Subtract: true, operators.Multiply: true, operators.Divide: true, operators.Modulo: true,
	operators.Index: true, operators.OptIndex: true, operators.OptSelect: true, "dyn": true, "type": true,
	"hasValue": true, "value": true, "or": true, "orValue": true, "optional.of": true, "optional.ofNonZeroValue": true, "optional.none": true,
	"first": true, "last": true,
}
