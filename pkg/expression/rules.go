// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// The rules of expressions.
const (
	// SyntaxError is a text that is no CEL, or an expression that has no end.
	SyntaxError source.Rule = "expression-syntax"
	// UnknownName is a variable, a field or a function that does not exist.
	UnknownName source.Rule = "unknown-name"
	// WrongResult is an expression of which the types do not fit, inside or where it stands.
	WrongResult source.Rule = "expression-type"
	// WrongCondition is a condition that is no expression in braces.
	WrongCondition source.Rule = "condition-form"
	// TooCostly is an expression that may take too long.
	TooCostly source.Rule = "expression-cost"
	// FailingConstant is an expression without variables that has no result.
	FailingConstant source.Rule = "expression-fails"
)
