// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// EvaluationError says that an expression has no result. It holds no values: facts and lookups may be secret.
type EvaluationError struct {
	source.Position
	Message string
	err     error
}

// Error writes position and message.
func (e *EvaluationError) Error() string {
	return e.Position.String() + ": " + e.Message
}

// Unwrap returns the context's error when the evaluation was interrupted, the limit that was exceeded (see ExceedsLimit), or the error of
// another evaluation that was needed for this one.
func (e *EvaluationError) Unwrap() error { return e.err }

// failure is an error of which the text may be shown, because it holds no value.
type failure string

func (f failure) Error() string { return string(f) }

// Failure is an error that Fields may return for a field; its text is shown to users and must not hold values. Of other errors only an
// EvaluationError is shown.
func Failure(message string) error { return failure(message) }

func findingOf(err error) source.Findings {
	var failed *EvaluationError
	if errors.As(err, &failed) {
		return source.Findings{{Position: failed.Position, Message: failed.Message, Rule: FailingConstant}}
	}
	return source.Findings{{Message: err.Error(), Rule: FailingConstant}}
}

func (p *program) failed(message string) error {
	return &EvaluationError{Position: p.origin.position(p.offset), Message: message}
}

func (p *program) exceeds(limit error) error {
	return &EvaluationError{Position: p.origin.position(p.offset), Message: limit.Error(), err: limit}
}

func (p *program) interrupted(err error) error {
	return &EvaluationError{Position: p.origin.position(p.offset), Message: "the evaluation was interrupted: " + err.Error(), err: err}
}

// explain turns an error of CEL into one with a position and without values.
func (p *program) explain(ctx context.Context, vars interpreter.Activation, err error) error {
	failed := &EvaluationError{Position: p.origin.position(p.offset), Message: "the evaluation failed"}
	if errors.Is(err, errTooCostly) {
		failed.Message, failed.err = errTooCostly.Error(), errTooCostly
	}
	var celError *types.Err
	if !errors.As(err, &celError) {
		return failed
	}
	node := findNode(p.ast.NativeRep().Expr(), failedAt(celError))
	if strings.HasPrefix(celError.Error(), notIterated) {
		node = p.iteration(ctx, vars)
	}
	var inner *EvaluationError
	switch {
	case errors.As(err, &inner):
		failed.err = inner
	case ExceedsLimit(err):
		failed.err = celError
	}
	message, name := p.describe(celError, node)
	if node != nil && doesNotFit.MatchString(err.Error()) {
		message = p.unfit(ctx, vars, node)
	}
	failed.Message = message
	if node != nil {
		failed.Position = p.nodePosition(findName(node, name))
	}
	return failed
}

// notIterated is how CEL's error begins where there are no items; it does not say where.
const notIterated = "got '"

// failedAt is the part that failed. Within what is asked of items CEL wraps its error, once more for each list.
func failedAt(err *types.Err) int64 {
	id := err.NodeID()
	for inner := err; errors.As(errors.Unwrap(inner), &inner) && inner.NodeID() != 0; {
		id = inner.NodeID()
	}
	return id
}

// describe says what failed, and the name of the field or variable that is missing, if that is it.
func (p *program) describe(err error, node ast.Expr) (message, name string) {
	var (
		shown failure
		inner *EvaluationError
	)
	message = err.Error()
	switch {
	case errors.As(err, &inner):
		return inner.Error(), ""
	case errors.As(err, &shown):
		return string(shown), strings.TrimPrefix(string(shown), absentField)
	case missingAttribute.MatchString(message):
		name = missingAttribute.FindStringSubmatch(message)[1]
		return name + " is not known here", name
	case missingKey.MatchString(message):
		name = missingKey.FindStringSubmatch(message)[1]
		if !p.names(name) {
			return "there is no such key", ""
		}
		return absentField + name + p.howToRead(name), name
	case harmless.MatchString(message):
		return harmless.FindString(message), ""
	case node != nil && node.Kind() == ast.CallKind:
		return symbolOf(node.AsCall().FunctionName()) + " cannot take the value that it was given", ""
	}
	return "the evaluation failed", ""
}

// names says whether the expression itself holds this key: as a string or as the name of a field. Another key was computed, and
// may be, or be part of, what a Secret holds.
func (p *program) names(key string) bool {
	found := false
	ast.PreOrderVisit(p.ast.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		text, ok := literalString(e)
		if e.Kind() == ast.SelectKind {
			text, ok = e.AsSelect().FieldName(), true
		}
		found = found || ok && text == key
	}))
	return found
}

const absentField = "there is no "

// What CEL says is shown only where it cannot hold a value.
var (
	missingAttribute = regexp.MustCompile(`^no such attribute\(s\): ([A-Za-z0-9_]+)`)
	missingKey       = regexp.MustCompile(`^no such key: (.+)$`)
	// doesNotFit is what CEL says of types.
	doesNotFit = regexp.MustCompile(`^(no such overload|unsupported index type|invalid qualifier type|got '.*', expected iterable type)`)
	harmless   = regexp.MustCompile(`^(no such overload|division by zero|modulus by zero|` +
		`(integer|unsigned integer|int|uint|double|duration|timestamp) overflow|return error for overflow|` +
		`index out of bounds|optional.none\(\) dereference|` +
		`invalid UTF-8 in bytes, cannot convert to string|NaN values cannot be ordered)`)
)

// findNode is the node with this id, or nil.
func findNode(root ast.Expr, id int64) ast.Expr {
	var found ast.Expr
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id && id != 0 {
			found = e
		}
	}))
	return found
}

// findName is the part of a chain of selections, which CEL names by its end, that selects this name, or the whole chain.
func findName(chain ast.Expr, name string) ast.Expr {
	for node := chain; ; {
		switch node.Kind() {
		case ast.IdentKind:
			if node.AsIdent() == name {
				return node
			}
			return chain
		case ast.SelectKind:
			if node.AsSelect().FieldName() == name {
				return node
			}
			node = node.AsSelect().Operand()
		case ast.CallKind:
			if len(node.AsCall().Args()) != 2 || node.AsCall().IsMemberFunction() {
				return chain
			}
			if key, ok := literalString(node.AsCall().Args()[1]); ok && key == name {
				return node
			}
			node = node.AsCall().Args()[0]
		default:
			return chain
		}
	}
}
