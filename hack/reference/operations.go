// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/reference"
)

// writeOperations writes the page of operations: what each does, its arguments, examples, and the targets that have it.
func writeOperations(out *bytes.Buffer) error {
	fmt.Fprintf(out, "# Operations\n\nA rule of a [profile](profile.md#rules) is one of these, named by its key. *Text* is a string, a number or a "+
		"boolean. Where values are computed, their strings may hold `${ CEL }`; in rules with `forEach`, names may, too.\n\n")
	for _, d := range operation.All() {
		fmt.Fprintf(out, "- [%s](#%s): %s\n", d.Name, strings.ToLower(d.Name), reference.FirstPart(d.Summary))
	}
	for _, d := range operation.All() {
		fmt.Fprintf(out, "\n## %s\n\n%s.\n\n", d.Name, capital(d.Summary))
		table(out, "argument", "type", "computed", "meaning")
		writeArguments(out, reference.Arguments(d))
		fmt.Fprintf(out, "\n```yaml\n")
		for _, example := range append([]string{d.Example}, d.Examples...) {
			fmt.Fprintf(out, "- %s\n", example)
		}
		fmt.Fprintf(out, "```\n\n")
		if d.KeepsByDefault {
			fmt.Fprintf(out, "On update it keeps what the old object has, unless the rule has `onUpdate: set`.\n\n")
		}
		fmt.Fprintf(out, "On %s.\n", code(reference.Targets(d)...))
	}
	return nil
}

// writeArguments writes a row for each argument.
func writeArguments(out *bytes.Buffer, arguments []reference.Argument) {
	for _, a := range arguments {
		kind, computed := reference.TypeWords(a.Type, code), ""
		if a.Required {
			kind += ", required"
		}
		if a.Computed {
			computed = "yes"
		}
		row(out, code(a.Name), kind, computed, prose(a.Summary))
	}
}
