// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// argument is an argument of an operation under its full name, such as set.<name>.mount.
type argument struct {
	Name     string
	Type     operation.Type
	Required bool
	// Computed says that ${ CEL } is evaluated in it.
	Computed bool
	Summary  string
}

// argumentsOf returns all arguments of an operation with those within them, in their order.
func argumentsOf(d operation.Definition) []argument { return argumentsIn("", d.Arguments) }

func argumentsIn(prefix string, arguments []operation.Argument) []argument {
	var all []argument
	for _, a := range arguments {
		name, of := prefix+a.Name, a.Type
		if a.Name == "" {
			name, of = entries(prefix, a.Type)
		}
		all = append(all, argument{Name: name, Type: of, Required: a.Required, Computed: isComputed(of), Summary: a.Summary})
		all = append(all, within(name+".", of)...)
	}
	return all
}

// entries returns the name and the type of the entries of a mapping or list.
func entries(prefix string, t operation.Type) (string, operation.Type) {
	if t.Form == operation.List {
		return strings.TrimSuffix(prefix, ".") + "[]", *t.Items
	}
	return prefix + "<name>", *t.Items
}

// within returns the arguments below one of the type.
func within(prefix string, t operation.Type) []argument {
	all := argumentsIn(prefix, t.Fields)
	for _, possible := range t.Types {
		all = append(all, within(prefix, possible)...)
	}
	if t.Form == operation.Mapping || t.Form == operation.List {
		name, of := entries(prefix, t)
		all = append(all, within(name+".", of)...)
	}
	return all
}

func isComputed(t operation.Type) bool {
	for _, possible := range t.Types {
		if isComputed(possible) {
			return true
		}
	}
	return t.Computed || (t.Items != nil && isComputed(*t.Items))
}

// targetsOf returns the names of the targets that have the operation, sorted.
func targetsOf(d operation.Definition) []string {
	var names []string
	for _, name := range target.Names() {
		if found, _ := target.Lookup(name); d.On(found) {
			names = append(names, name)
		}
	}
	return names
}

// operationsOf returns the names of the operations that a target has, in the order of the registry.
func operationsOf(t *target.Target) []string {
	var names []string
	for _, d := range operation.All() {
		if d.On(t) {
			names = append(names, d.Name)
		}
	}
	return names
}

// typeInWords returns the type of an argument in words.
func typeInWords(t operation.Type) string {
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
		return "list of " + typeInWords(*t.Items)
	case operation.Mapping:
		return "mapping of names to " + typeInWords(*t.Items)
	case operation.Shape:
		return shapeWords(t)
	case operation.Either:
		var possible []string
		for _, one := range t.Types {
			possible = append(possible, typeInWords(one))
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

// shapeWords returns a type of Kubernetes and which of its fields are meant.
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
