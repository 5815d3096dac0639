// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Tree compiles any YAML value; its strings may hold ${ CEL }.
func (c *Context) Tree(n source.Node, path string) (Value, source.Findings) {
	compiled, findings := expression.NewTree(c.Expressions, n, path)
	if len(findings) > 0 {
		return Value{}, findings
	}
	if !compiled.Constant() {
		return Value{tree: compiled}, nil
	}
	raw, err := compiled.JSON(context.Background(), nil)
	if err != nil {
		return Value{}, source.FindingsOf(n, path, err).Of(expression.FailingConstant)
	}
	return Value{constant: &Resolved{JSON: raw}}, nil
}
