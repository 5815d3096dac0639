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
	seen := map[string]bool{}
	var all []expression.Variable
	for _, operation := range interpreter.Operations() {
		var names []string
		for _, variable := range rule.Variables(operation) {
			names = append(names, variable.Name)
			if !seen[variable.Name] {
				seen[variable.Name] = true
				all = append(all, variable)
			}
		}
		for _, variable := range rule.ItemVariables(operation) {
			names = append(names, variable.Name)
		}
		row(out, code(string(operation)), code(names...))
	}
	fmt.Fprintln(out)
	writeVariables(out, append(all, rule.ItemVariables(interpreter.Retain)...), rule.Summary)
	writeObjects(out, "###", all, rule.Summary)
	return nil
}
