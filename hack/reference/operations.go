// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// writeOperations writes the page of operations: what each does, its arguments, examples, and the targets that have it.
func writeOperations(out *bytes.Buffer) error {
	fmt.Fprintf(out, "# Operations\n\nA rule of a [profile](profile.md#rules) is one of these, named by its key. *Text* is a string, a number or a "+
		"boolean. Where values are computed, their strings may hold `${ CEL }`; in rules with `forEach`, names may, too.\n\n")
	for _, d := range operation.All() {
		fmt.Fprintf(out, "- [%s](#%s): %s\n", d.Name, strings.ToLower(d.Name), firstPart(d.Summary))
	}
	for _, d := range operation.All() {
		fmt.Fprintf(out, "\n## %s\n\n%s.\n\n", d.Name, capital(d.Summary))
		table(out, "argument", "type", "computed", "meaning")
		writeArguments(out, "", d.Arguments)
		fmt.Fprintf(out, "\n```yaml\n")
		for _, example := range append([]string{d.Example}, d.Examples...) {
			fmt.Fprintf(out, "- %s\n", example)
		}
		fmt.Fprintf(out, "```\n\n")
		if d.KeepsByDefault {
			fmt.Fprintf(out, "On update it keeps what the old object has, unless the rule has `onUpdate: set`.\n\n")
		}
		fmt.Fprintf(out, "On %s.\n", code(targetsOf(d)...))
	}
	return nil
}

// firstPart is a summary up to its first details.
func firstPart(summary string) string {
	part, _, _ := strings.Cut(summary, ";")
	part, _, _ = strings.Cut(part, " (")
	part, _, _ = strings.Cut(part, ": ")
	return part
}

func targetsOf(d operation.Definition) []string {
	var names []string
	for _, name := range target.Names() {
		if found, _ := target.Lookup(name); d.On(found) {
			names = append(names, name)
		}
	}
	return names
}

// writeArguments writes a row for each argument, and for those within it.
func writeArguments(out *bytes.Buffer, prefix string, arguments []operation.Argument) {
	for _, a := range arguments {
		name, of := prefix+a.Name, a.Type
		if a.Name == "" {
			name, of = entries(prefix, a.Type)
		}
		kind, computed := words(of), ""
		if a.Required {
			kind += ", required"
		}
		if isComputed(of) {
			computed = "yes"
		}
		row(out, code(name), kind, computed, prose(a.Summary))
		writeWithin(out, name+".", of)
	}
}

// entries are those of a mapping or list, and their type.
func entries(prefix string, t operation.Type) (string, operation.Type) {
	if t.Form == operation.List {
		return strings.TrimSuffix(prefix, ".") + "[]", *t.Items
	}
	return prefix + "<name>", *t.Items
}

// writeWithin writes the arguments that stand below one of the type.
func writeWithin(out *bytes.Buffer, prefix string, t operation.Type) {
	writeArguments(out, prefix, t.Fields)
	for _, possible := range t.Types {
		writeWithin(out, prefix, possible)
	}
	if t.Form == operation.Mapping || t.Form == operation.List {
		name, of := entries(prefix, t)
		writeWithin(out, name+".", of)
	}
}

func isComputed(t operation.Type) bool {
	for _, possible := range t.Types {
		if isComputed(possible) {
			return true
		}
	}
	return t.Computed || (t.Items != nil && isComputed(*t.Items))
}

// words say what may stand there.
func words(t operation.Type) string {
	said := form(t)
	if t.Null {
		said += ", or null"
	}
	return said
}

func form(t operation.Type) string {
	switch t.Form {
	case operation.Scalar:
		return "text"
	case operation.String:
		if t.Values != nil {
			return "one of " + code(quoteEmpty(t.Values)...)
		}
		return "string"
	case operation.Boolean:
		return "true or false"
	case operation.Octal:
		return "octal digits"
	case operation.List:
		return "list of " + words(*t.Items)
	case operation.Mapping:
		return "mapping of names to " + words(*t.Items)
	case operation.Shape:
		return shapeWords(t)
	case operation.Either:
		var possible []string
		for _, one := range t.Types {
			possible = append(possible, words(one))
		}
		return strings.Join(possible, " or ")
	case operation.Tree:
		return "any value"
	default:
		return "fields"
	}
}

func quoteEmpty(values []string) []string {
	quoted := make([]string, len(values))
	for i, value := range values {
		if quoted[i] = value; value == "" {
			quoted[i] = `""`
		}
	}
	return quoted
}

// shapeWords names a type of Kubernetes and which of its fields are meant.
func shapeWords(t operation.Type) string {
	said := "fields of " + code(t.Of.Name())
	switch {
	case t.Values != nil:
		said += ": " + code(t.Values...)
	case t.Without != nil:
		said += " but " + code(t.Without...)
	}
	return said
}
