// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/reference"
)

// writeExpressions writes the page of what expressions see: each variable with its fields and their types.
func writeExpressions(out *bytes.Buffer) error {
	fmt.Fprintf(out, "# What expressions see\n\nFor authors of profiles. Look up variables and their fields here, and functions in "+
		"[expressions](../usage/expressions.md#values-and-conditions). Fields of a `dyn` value are checked at evaluation; read optional ones "+
		"with `?`.\n\n")
	table(out, "variable", "type", "meaning")
	for _, variable := range facts.Variables() {
		row(out, code(variable.Name), code(variable.TypeName()), facts.Summary(variable.Name))
	}
	fmt.Fprintf(out, "\nA profile adds `parameters`, `variables`, `lookups`, `images` (references by their names in the image vector), and, in "+
		"rules with `forEach`, `item` (with `key` and `value` for a mapping).\n")
	for _, object := range reference.Objects() {
		fmt.Fprintf(out, "\n## %s\n\n", object.Name())
		table(out, "field", "type", "meaning")
		for _, field := range object.Fields() {
			row(out, code(field), code(object.FieldType(field)), facts.Summary(object.Name()+"."+field))
		}
	}
	return nil
}
