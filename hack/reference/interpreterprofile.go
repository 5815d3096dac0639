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
	fmt.Fprintf(out, "# Reference of the InterpreterProfile\n\nFor authors of interpreter profiles. Look up each field here; "+
		"[interpreter profiles](../usage/interpreter.md) has examples.\n\n## Fields\n\n")
	networkFields(out, schema, schema, "")
	fmt.Fprint(out, "\n## What expressions see\n\nFields of objects have no type. Read optional fields with `?`, as in "+
		"`object.?status.?replicas.orValue(0)`. Expressions see the original object, without the changes of earlier rules.\n\n")
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
