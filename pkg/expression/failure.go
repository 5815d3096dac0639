// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"errors"
	"regexp"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

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
	if e.err != nil {
		return e.Position.String() + ": " + e.Message + ": " + e.err.Error()
	}
	return e.Position.String() + ": " + e.Message
}

// Unwrap returns the context's error when the evaluation was interrupted.
func (e *EvaluationError) Unwrap() error { return e.err }

// failure is an error of which the text may be shown, because it holds no value.
type failure string

func (f failure) Error() string { return string(f) }

// Failure is an error that a Fields may return for a field; its text is shown to users and must not hold values.
func Failure(message string) error { return failure(message) }

func findingOf(err error) source.Findings {
	var failed *EvaluationError
	if errors.As(err, &failed) {
		return source.Findings{{Position: failed.Position, Message: failed.Message}}
	}
	return source.Findings{{Message: err.Error()}}
}

func (p *program) failed(message string) error {
	return &EvaluationError{Position: p.origin.position(p.offset), Message: message}
}

func (p *program) interrupted(err error) error {
	return &EvaluationError{Position: p.origin.position(p.offset), Message: "evaluation was interrupted", err: err}
}

// explain turns an error of CEL into one with a position and without values.
func (p *program) explain(err error) error {
	failed := &EvaluationError{Position: p.origin.position(p.offset), Message: "the evaluation failed"}
	var celError *types.Err
	if !errors.As(err, &celError) {
		return failed
	}
	node := findNode(p.ast.NativeRep().Expr(), celError.NodeID())
	if node != nil {
		failed.Position = p.nodePosition(node)
	}
	failed.Message = p.describe(celError, node)
	return failed
}

func (p *program) describe(err error, node ast.Expr) string {
	var shown failure
	if errors.As(err, &shown) {
		return string(shown)
	}
	message := err.Error()
	if m := missingAttribute.FindStringSubmatch(message); m != nil {
		return m[1] + " is not known here"
	}
	if m := missingKey.FindStringSubmatch(message); m != nil {
		if strings.Contains(p.origin.text, m[1]) {
			return "there is no " + m[1]
		}
		return "there is no such key"
	}
	if m := harmless.FindString(message); m != "" {
		return m
	}
	if node != nil && node.Kind() == ast.CallKind {
		return strings.Trim(node.AsCall().FunctionName(), "_@") + " cannot take the value that it was given"
	}
	return "the evaluation failed"
}

// What CEL says is shown only where it cannot hold a value.
var (
	missingAttribute = regexp.MustCompile(`^no such attribute\(s\): ([A-Za-z0-9_]+)`)
	missingKey       = regexp.MustCompile(`^no such key: (.+)$`)
	harmless         = regexp.MustCompile(`^(no such overload(: [A-Za-z0-9_.@?!]+)?|division by zero|modulus by zero|` +
		`(integer|unsigned integer|int|uint|double|duration|timestamp) overflow|return error for overflow|` +
		`index out of bounds: -?\d+|index '-?\d+' out of range.*|optional.none\(\) dereference|` +
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
