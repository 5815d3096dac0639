// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
)

// writeInterpreterProfile writes the page of the document, and of what expressions see in each operation.
func writeInterpreterProfile(out *bytes.Buffer) error {
	schema, err := readSchema("interpreterprofile.json")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "# Reference of the InterpreterProfile\n\n%s\n\n## Fields\n\n", schema.Description)
	table(out, "field", "type", "meaning")
	networkRows(out, schema, schema, "", nil)
	fmt.Fprint(out, "\n## What expressions see\n\nWhat stands in objects has no type: what may be missing is read with `?`, as in "+
		"`object.?status.?replicas.orValue(0)`. All expressions see an object as it came, whatever rules before have changed.\n\n")
	table(out, "operation", "variables")
	seen := map[string]expression.Variable{}
	var order []string
	for _, operation := range interpreter.Operations() {
		var names []string
		for _, variable := range rule.Variables(operation) {
			names = append(names, variable.Name)
			if _, known := seen[variable.Name]; !known {
				seen[variable.Name] = variable
				order = append(order, variable.Name)
			}
		}
		for _, variable := range rule.ItemVariables(operation) {
			names = append(names, variable.Name)
		}
		row(out, code(string(operation)), code(names...))
	}
	fmt.Fprintln(out)
	table(out, "variable", "type", "meaning")
	for _, name := range order {
		row(out, code(name), code(seen[name].TypeName()), rule.Summary(name))
	}
	for _, variable := range rule.ItemVariables(interpreter.Retain) {
		row(out, code(variable.Name), code(variable.TypeName()), rule.Summary(variable.Name))
	}
	for _, name := range order {
		object := seen[name].Object
		if object == nil {
			continue
		}
		fmt.Fprintf(out, "\n### %s\n\n", object.Name())
		table(out, "field", "type", "meaning")
		for _, field := range object.Fields() {
			row(out, code(field), code(object.FieldType(field)), rule.Summary(object.Name()+"."+field))
		}
	}
	return nil
}
