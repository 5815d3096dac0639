// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import "github.com/google/cel-go/common/ast"

// Piece is a part of a template: text as it is written, or an expression as CEL has checked it.
type Piece struct {
	Literal string
	// Syntax is nil for text.
	Syntax *ast.AST
}

// Syntax is the condition as CEL has checked it, for who says it in another language. It must not be changed.
func (x *Expression) Syntax() *ast.AST { return x.program.ast.NativeRep() }

// Pieces are the parts of the template, in their order. They must not be changed.
func (t *Template) Pieces() []Piece {
	pieces := make([]Piece, len(t.parts))
	for i, part := range t.parts {
		pieces[i].Literal = part.literal
		if part.program != nil {
			pieces[i].Syntax = part.program.ast.NativeRep()
		}
	}
	return pieces
}

// Whole says that the template is one expression and nothing else, so that its result is that of the expression.
func (t *Template) Whole() bool { return t.whole != nil }
