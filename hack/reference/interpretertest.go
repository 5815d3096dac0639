// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
)

// writeInterpreterTest writes the page of tests for interpreter profiles: tables and what is wanted.
func writeInterpreterTest(out *bytes.Buffer) error {
	schema, err := readSchema("interpreterprofiletest.json")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "# Reference of the InterpreterProfileTest\n\nFor authors of tests that `graft test` runs. Look up each field here; "+
		"[interpreter profiles](../usage/interpreter.md#test-it) has examples.\n\n## Fields\n\n")
	testRows(out, schema, nil)
	fmt.Fprint(out, "\n## Cases\n\n")
	testRows(out, schema.Properties["cases"].Items, nil)
	fmt.Fprintf(out, "\n## What is wanted\n\n%s The operation is in brackets.\n\n", schema.Definitions["want"].Description)
	testRows(out, schema.Definitions["want"], nil)
	return nil
}
