// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// writeExpressions writes the page of what expressions see: each variable with its fields and their types.
func writeExpressions(out *bytes.Buffer) error {
	fmt.Fprintf(out, "# What expressions see\n\nFor authors of profiles. Look up variables and their fields here, and functions in "+
		"[expressions](../usage/expressions.md#values-and-conditions). Fields of a `dyn` value are checked at evaluation; read optional ones "+
		"with `?`.\n\n")
	writeVariables(out, facts.Variables(), facts.Summary)
	fmt.Fprintf(out, "\nA profile adds `parameters`, `variables`, `lookups`, `images` (references by their names in the image vector), and, in "+
		"rules with `forEach`, `item` (with `key` and `value` for a mapping).\n")
	writeObjects(out, "##", facts.Variables(), facts.Summary)
	return nil
}

// writeVariables writes a table of variables.
func writeVariables(out *bytes.Buffer, variables []expression.Variable, summary func(name string) string) {
	table(out, "variable", "type", "meaning")
	for _, variable := range variables {
		row(out, code(variable.Name), code(variable.TypeName()), summary(variable.Name))
	}
}

// writeObjects writes a table of fields for each object type of the variables and those inside them, each once.
func writeObjects(out *bytes.Buffer, heading string, variables []expression.Variable, summary func(name string) string) {
	seen := map[*expression.Object]bool{}
	var write func(object *expression.Object)
	write = func(object *expression.Object) {
		if object == nil || seen[object] {
			return
		}
		seen[object] = true
		fmt.Fprintf(out, "\n%s %s\n\n", heading, object.Name())
		table(out, "field", "type", "meaning")
		for _, field := range object.Fields() {
			row(out, code(field), code(object.FieldType(field)), summary(object.Name()+"."+field))
		}
		for _, nested := range object.Nested() {
			write(nested)
		}
	}
	for _, variable := range variables {
		write(variable.Object)
	}
}
