// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
)

// writeOperations writes the page of operations: what each does, its arguments, examples, and the targets that have it.
func writeOperations(out *bytes.Buffer) error {
	fmt.Fprintf(out, "# Operations\n\nFor authors of profiles. A [rule](profile.md#rules) has one of these operations as its key. *Text* is a string, a "+
		"number or a boolean. Strings of computed values may contain `${ CEL }`, and in rules with `forEach` names may too.\n\n")
	for _, d := range operation.All() {
		fmt.Fprintf(out, "- [%s](#%s)\n", d.Name, strings.ToLower(d.Name))
	}
	writeTargets(out)
	for _, d := range operation.All() {
		fmt.Fprintf(out, "\n## %s\n\n%s.\n\n", d.Name, capital(d.Summary))
		table(out, "argument", "type", "computed", "meaning")
		writeArguments(out, argumentsOf(d))
		fmt.Fprintf(out, "\n```yaml\n")
		for _, example := range append([]string{d.Example}, d.Examples...) {
			fmt.Fprintf(out, "- %s\n", example)
		}
		fmt.Fprintf(out, "```\n")
		if d.KeepsByDefault {
			fmt.Fprintf(out, "\nOn update it keeps what the old object has, unless the rule has `onUpdate: set`.\n")
		}
	}
	return nil
}

// writeTargets writes which targets have which operations, one row for the operations with the same targets.
func writeTargets(out *bytes.Buffer) {
	operations := map[string][]string{}
	var order []string
	for _, d := range operation.All() {
		targets := code(targetsOf(d)...)
		if operations[targets] == nil {
			order = append(order, targets)
		}
		operations[targets] = append(operations[targets], d.Name)
	}
	fmt.Fprintf(out, "\n## Targets\n\n")
	table(out, "operations", "targets")
	for _, targets := range order {
		row(out, code(operations[targets]...), targets)
	}
}

// writeArguments writes a row for each argument.
func writeArguments(out *bytes.Buffer, arguments []argument) {
	for _, a := range arguments {
		kind, computed := typeInWords(a.Type), ""
		if a.Required {
			kind += ", required"
		}
		if a.Computed {
			computed = "yes"
		}
		row(out, code(a.Name), kind, computed, prose(a.Summary))
	}
}
