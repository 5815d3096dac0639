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
	fmt.Fprintf(out, "# What expressions see\n\n[Expressions](../usage/expressions.md#values-and-conditions) has the functions. What is `dyn` has "+
		"fields that are checked only when an expression is evaluated; one that may be missing is read with `?`.\n\n")
	table(out, "variable", "type", "meaning")
	for _, variable := range facts.Variables() {
		row(out, code(variable.Name), code(variable.TypeName()), facts.Summary(variable.Name))
	}
	fmt.Fprintf(out, "\nBeside these, there is what the profile declares: `parameters`, `variables`, `lookups`, the references of `images` by "+
		"the names in its image vector, and in rules with `forEach` the `item`, which has a `key` and a `value` where the items are those of a mapping.\n")
	for _, object := range reference.Objects() {
		fmt.Fprintf(out, "\n## %s\n\n", object.Name())
		table(out, "field", "type", "meaning")
		for _, field := range object.Fields() {
			row(out, code(field), code(object.FieldType(field)), facts.Summary(object.Name()+"."+field))
		}
	}
	return nil
}
