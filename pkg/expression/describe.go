// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// Name is the qualified name of the object type.
func (o *Object) Name() string { return o.name }

// Nested are the object types that occur in the types of the fields.
func (o *Object) Nested() []*Object { return o.nested }

// FieldType is the type of a declared field as messages call it; empty for any other.
func (o *Object) FieldType(name string) string {
	field, ok := o.fields[name]
	if !ok {
		return ""
	}
	return describeType(field.Type)
}

// TypeName is the type of the variable as messages call it.
func (v Variable) TypeName() string { return describeType(v.celType()) }

// Function is a function that expressions can call.
type Function struct {
	Name string
	// Summary says in a line what it gives; empty for most of those that are not Graft's own.
	Summary string
	// Signatures are the types that it takes and gives, such as string.satisfies(string) -> bool, sorted.
	Signatures []string
	// Own says that it is one of Graft's own.
	Own bool
}

// Functions are all functions of expressions, sorted by name, without operators and macros.
func Functions() ([]Function, error) {
	env, err := baseEnvironment()
	if err != nil {
		return nil, err
	}
	var all []Function
	for name, declared := range env.Functions() {
		if !isWord(name[0]) || name[0] == '_' || strings.Contains(name, "@") {
			continue
		}
		f := Function{Name: name, Summary: strings.Join(strings.Fields(declared.Description()), " ")}
		for _, overload := range declared.OverloadDecls() {
			f.Own = f.Own || strings.HasPrefix(overload.ID(), "graft_") || name == satisfies
			f.Signatures = append(f.Signatures, signature(name, overload.IsMemberFunction(), overload.ArgTypes(), overload.ResultType()))
		}
		slices.Sort(f.Signatures)
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Function) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func signature(name string, member bool, arguments []*types.Type, result *types.Type) string {
	words := make([]string, len(arguments))
	for i, t := range arguments {
		words[i] = cel.FormatCELType(t)
	}
	if member {
		name, words = words[0]+"."+name, words[1:]
	}
	return name + "(" + strings.Join(words, ", ") + ") -> " + cel.FormatCELType(result)
}
