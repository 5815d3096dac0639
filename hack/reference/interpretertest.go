// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
)

// writeInterpreterTest writes the page of tests for interpreter profiles: tables, what is wanted, and the file of a folder.
func writeInterpreterTest(out *bytes.Buffer) error {
	schema, err := readSchema("interpreterprofiletest.json")
	if err != nil {
		return err
	}
	folder, err := readSchema("interpretertestcase.json")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "# Reference of the InterpreterProfileTest\n\n%s [What Karmada asks](../usage/interpreter.md#test-it) explains it by example.\n\n"+
		"## Fields\n\n", schema.Description)
	table(out, "field", "type", "meaning")
	testRows(out, schema, nil)
	fmt.Fprint(out, "\n## Cases\n\n")
	table(out, "field", "type", "meaning")
	testRows(out, schema.Properties["cases"].Items, nil)
	fmt.Fprintf(out, "\n## What is wanted\n\n%s In brackets stands the operation that is asked.\n\n", schema.Definitions["want"].Description)
	table(out, "field", "type", "meaning")
	testRows(out, schema.Definitions["want"], nil)
	fmt.Fprint(out, "\n## case.yaml\n\nThe object of a folder stands in `in.yaml`, what the member has for `retain` in `observed.yaml`, and the whole "+
		"answers in `want.yaml`.\n\n")
	table(out, "field", "type", "meaning")
	testRows(out, folder, nil)
	return nil
}
