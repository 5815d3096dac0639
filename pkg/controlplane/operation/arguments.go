// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
)

// Argument is one argument of an operation, as the reference and the JSON Schema know it. Compile judges what is given; a
// test holds the two together.
type Argument struct {
	// Name is the key of the argument; empty for the one of an operation whose arguments are no fixed fields: Type is then that
	// of all that stands below the operation.
	Name string
	// Type is what may stand there.
	Type Type
	// Summary says in a line what it means, without a full stop.
	Summary string
	// Required says that the operation is refused without it.
	Required bool
}

// Form is a kind of value in YAML.
type Form string

// The forms of arguments.
const (
	// Scalar is a string, a number or a boolean.
	Scalar Form = "scalar"
	// String is a string.
	String Form = "string"
	// Boolean is true or false.
	Boolean Form = "boolean"
	// Octal are the permissions of a file, such as 0755, as a number or a string.
	Octal Form = "octal"
	// List is a list of Items.
	List Form = "list"
	// Mapping is a mapping of names that the profile chooses to Items.
	Mapping Form = "mapping"
	// Fields is a mapping with the given Fields.
	Fields Form = "fields"
	// Shape is what Kubernetes decodes as the type Of: all its members, or those in Values, none of those in Without, and Fields beside them.
	Shape Form = "shape"
	// Tree is anything.
	Tree Form = "tree"
	// Either is one of Types.
	Either Form = "either"
)

// Type is what an argument may be.
type Type struct {
	Form Form
	// Computed says that a string may hold ${ CEL }, and that one which is an expression and nothing else may stand for a value.
	Computed bool
	// Values are all that a String may be, and the members that a Shape may have; nil: any.
	Values []string
	// Without are members of a Shape, or names in a Mapping, that cannot be given.
	Without []string
	// Names is what the names in a Mapping are like; nil: any.
	Names *regexp.Regexp
	// Items is what each entry of a List or Mapping is.
	Items *Type
	// Fields are the members of Fields, and those of a Shape that Kubernetes does not know.
	Fields []Argument
	// Of is the Go type of a Shape.
	Of reflect.Type
	// Types are the possibilities of Either.
	Types []Type
	// Null says that null may stand there too, which the summary explains.
	Null bool
}

// Type is what all that stands below the operation may be.
func (d Definition) Type() Type {
	if len(d.Arguments) == 1 && d.Arguments[0].Name == "" {
		return d.Arguments[0].Type
	}
	return members(d.Arguments...)
}

// The types that several operations share.
var (
	// anyText is a value that becomes text: the value of a label or a flag.
	anyText = Type{Form: Scalar, Computed: true}
	// longText is a longer text, in which numbers make no sense.
	longText = Type{Form: String, Computed: true}
	// oneOrMore is a text, or several for what may stand several times.
	oneOrMore = either(anyText, listOf(anyText))
	// fixedText is a string in which ${ } is not evaluated.
	fixedText = Type{Form: String}
	boolean   = Type{Form: Boolean}
	// anyTree is any YAML value with ${ CEL } in its strings.
	anyTree = Type{Form: Tree, Computed: true}
	// names is a list of names, which ${ } is no part of but in rules with forEach.
	names = listOf(Type{Form: Scalar})
)

// oneOfTexts is a string out of a few.
func oneOfTexts(values ...string) Type { return Type{Form: String, Values: values} }

// listOf is a list.
func listOf(items Type) Type { return Type{Form: List, Items: &items} }

// mappingOf is a mapping of names that the profile chooses.
func mappingOf(items Type) Type { return Type{Form: Mapping, Items: &items} }

// named bounds the names that the profile chooses.
func (t Type) named(names *regexp.Regexp, without ...string) Type {
	t.Names, t.Without = names, without
	return t
}

// flagsTo is a mapping of flags; those with operations of their own are not among them.
func flagsTo(items Type) Type {
	return mappingOf(items).named(flagName, slices.Sorted(maps.Keys(keyedFlags))...)
}

// members is a mapping with the given members.
func members(fields ...Argument) Type { return Type{Form: Fields, Fields: fields} }

// shapeLike is what Kubernetes decodes as a T, but for some members; its strings may hold ${ CEL }.
func shapeLike[T any](without ...string) Type {
	return Type{Form: Shape, Of: reflect.TypeFor[T](), Without: without, Computed: true}
}

// only leaves the named members of a shape, and adds others.
func (t Type) only(values []string, more ...Argument) Type {
	t.Values, t.Fields = values, more
	return t
}

// either is a value of one of several types.
func either(types ...Type) Type { return Type{Form: Either, Types: types} }

// orNull lets null stand for a value, too.
func orNull(t Type) Type {
	t.Null = true
	return t
}

// computed lets ${ CEL } stand for a value.
func computed(t Type) Type {
	t.Computed = true
	return t
}

// setAndRemove are the arguments that most operations have: what to set, by name, and what to remove.
func setAndRemove(what string, values Type) []Argument {
	return []Argument{
		{Name: "set", Type: values, Summary: what + " to set, by name"},
		{Name: "remove", Type: names, Summary: "names of " + what + " to remove"},
	}
}

// inContainer is the argument that chooses a container.
func inContainer() Argument {
	return Argument{Name: "container", Type: fixedText, Summary: "the container; by default the one that the contract requires"}
}
