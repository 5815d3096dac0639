// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import "reflect"

// Argument is one argument of an operation, as the reference and the JSON Schema know it. Compile judges what is given; a
// test holds the two together.
type Argument struct {
	// Name is the key of the argument; empty where the profile chooses the keys, as for feature gates.
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
	// Mapping is a mapping of names that the profile chooses to Items; Values are the names that it may choose, if they are bounded.
	Mapping Form = "mapping"
	// Fields is a mapping with the given Fields.
	Fields Form = "fields"
	// Shape is what Kubernetes decodes as the type Of: all its members, or those in Values, and none of those in Without.
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
	// Values are all that a String or Scalar may be, and the names that a Mapping or Shape may have; nil: any.
	Values []string
	// Without are members of the shape that cannot be given.
	Without []string
	// Items is what each entry of a List or Mapping is.
	Items *Type
	// Fields are the members of Fields.
	Fields []Argument
	// Of is the Go type of a Shape.
	Of reflect.Type
	// Types are the possibilities of Either.
	Types []Type
	// Null says that null may stand there too, which the summary explains.
	Null bool
}

// The types that several operations share.
var (
	// anyText is a value that becomes text: the value of a label or a flag.
	anyText = Type{Form: Scalar, Computed: true}
	// longText is a longer text, in which numbers make no sense.
	longText = Type{Form: String, Computed: true}
	// fixedText is a string in which ${ } is not evaluated: a name.
	fixedText = Type{Form: String}
	boolean   = Type{Form: Boolean}
	// anyTree is any YAML value with ${ CEL } in its strings.
	anyTree = Type{Form: Tree, Computed: true}
	names   = listOf(fixedText)
)

// oneOfTexts is a string out of a few.
func oneOfTexts(values ...string) Type { return Type{Form: String, Values: values} }

// listOf is a list.
func listOf(items Type) Type { return Type{Form: List, Items: &items} }

// mappingOf is a mapping of names that the profile chooses; names bounds them.
func mappingOf(items Type, names ...string) Type {
	return Type{Form: Mapping, Items: &items, Values: names}
}

// members is a mapping with the given members.
func members(fields ...Argument) Type { return Type{Form: Fields, Fields: fields} }

// shape is what Kubernetes decodes as a T; its strings may hold ${ CEL }.
func shape[T any]() Type { return Type{Form: Shape, Of: reflect.TypeFor[T](), Computed: true} }

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
func setAndRemove(what string, value Type) []Argument {
	return []Argument{
		{Name: "set", Type: mappingOf(value), Summary: what + " to set, by name"},
		{Name: "remove", Type: names, Summary: "names of " + what + " to remove"},
	}
}
