// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package operation contains the operations that a rule can apply to an object: one file per operation, and the
// registry that lists them.
//
// An operation parses its arguments once, when a profile is loaded, and returns Writes. Each names one place in the
// object (a flag of a container, a label, a volume), its value, and how to write it. The engine makes all decisions
// (conflicts, overridden writes, violations of the contract) from places and values, so that operations need not
// consider them. Operations must not read anything except the object and must not depend on conditions. Start reading
// at All.
package operation

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// nested marks an error as one of a document inside the object.
func nested(err error, format string, arguments ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: %w", target.ErrNested, fmt.Sprintf(format, arguments...), err)
}

// Trace is a lasting effect of a rule on an object that Gardener does not write again: a field or an item of a list, in
// the object or in a document inside it.
type Trace struct {
	// Document is the path of the field that contains the document, with its format and encoding. It is empty for the
	// object itself.
	Document, Format, Encoding string
	// Path is the path of the field or list, without positions.
	Path string
	// Item is the digest of the item, or AnyItem; empty: the trace is the field.
	Item string
}

// Resolved is a value after its expressions were evaluated. Exactly one of the three is meant.
type Resolved struct {
	// Absent reports that the place must not be there.
	Absent bool
	// Texts are one or several strings: the value of a label, or each occurrence of a flag. An empty list that is not nil
	// means a flag without a value.
	Texts []string
	// JSON is a structured value.
	JSON []byte
	// From lists the Secrets that the value contains, or is nil. Such a value is written to the object but never
	// displayed.
	From []string
}

// Value is the value of a write: constant, or computed from facts.
type Value struct {
	constant *Resolved
	texts    []*expression.Template
	tree     *expression.Tree
	shape    func([]byte) ([]byte, error)
	escape   escape
	secrets  []string // the Secrets that it contains
}

// escape writes values so that systemd reads them back. The zero value writes them as they are.
type escape struct {
	// computed escapes the result of an expression that follows the text before.
	computed func(before, computed string) (string, error)
	// whole escapes the whole text; nil does not escape it.
	whole func(string) string
}

// Definition defines an operation of profiles.
type Definition struct {
	// Name is the key of the operation in a rule.
	Name string
	// Summary describes the operation in one line.
	Summary string
	// Example is a rule that uses it, as YAML.
	Example string
	// Examples are further rules, so that the examples cover all arguments.
	Examples []string
	// Arguments describes all arguments that Compile accepts, for the reference and the JSON Schema.
	Arguments []Argument
	// Parts are the parts that an object must have for it.
	Parts target.Part
	// Components lists the components with this operation; nil means all that have the parts.
	Components []string
	// KeepsByDefault means that a rule without onUpdate keeps the values of the old object on UPDATE.
	KeepsByDefault bool

	// compile parses the arguments and returns all findings about them, except those of Type.check.
	compile func(c *Context, arguments source.Node, path string) ([]Write, source.Findings)
}

// Compile parses the arguments and returns all findings about them.
func (d Definition) Compile(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	findings := d.Type().check(arguments, path)
	writes, more := d.compile(c, arguments, path)
	if len(findings) == 0 {
		return writes, more
	}
	isConsequence := func(f source.Finding) bool { return f.Rule == NothingToDo }
	return nil, append(findings, slices.DeleteFunc(more.Beyond(findings), isConsequence)...)
}

// On reports whether the operation can be used on the target.
func (d Definition) On(t *target.Target) bool {
	return t.Has(d.Parts) && (d.Components == nil || slices.Contains(d.Components, t.Component))
}

// Context provides the data that an operation may use to parse its arguments.
type Context struct {
	// Target is the target of the rule.
	Target *target.Target
	// Expressions compiles ${ CEL } in strings.
	Expressions expression.Templates
	// Files maps the paths in contentFrom to the files next to the profile.
	Files map[string][]byte
	// Refused has the reason for each of these files that could not be read.
	Refused map[string]string
}

// Write is one place that an operation writes.
type Write struct {
	Place Place
	// Value is the value to write.
	Value Value
	// At is the position of the value in the profile, and Path its field.
	At   source.Node
	Path string
	// Adds is true if the value is added to the values of other writes, even at the same place. Then none of them
	// overrides another.
	Adds bool
	// Apply writes the resolved value. It makes no edit if the object already has it.
	Apply func(o *target.Object, v Resolved) error
	// Keep restores the place from o.Old, which is not nil. If Keep is nil, the operation does not support it, and a
	// rule that keeps values is refused.
	Keep func(o *target.Object) error

	// trace is the trace that the write leaves, or nil. If Adds is true, it is the trace of the list.
	trace *Trace
}

// PlaceKind is a kind of place.
type PlaceKind string

// The kinds of places. Two writes meet when kind, container and name are the same.
const (
	Flag            PlaceKind = "flag"
	FeatureGate     PlaceKind = "feature gate"
	MapFlagEntry    PlaceKind = "map flag entry"
	AdmissionPlugin PlaceKind = "admission plugin"
	Env             PlaceKind = "environment variable"
	Volume          PlaceKind = "volume"
	VolumeMount     PlaceKind = "volume mount"
	Label           PlaceKind = "label"
	Annotation      PlaceKind = "annotation"
	PodLabel        PlaceKind = "pod label"
	PodAnnotation   PlaceKind = "pod annotation"
	Container       PlaceKind = "container"
	ContainerPolicy PlaceKind = "container policy"
	StorageField    PlaceKind = "storage"
	KubeletField    PlaceKind = "kubelet configuration field"
	KernelSetting   PlaceKind = "kernel setting"
	File            PlaceKind = "file"
	Unit            PlaceKind = "unit"
	UnitField       PlaceKind = "unit field"
	UnitOption      PlaceKind = "unit option"
	DropIn          PlaceKind = "drop-in"
	// Field is a field of the object by its path.
	Field PlaceKind = "field"
	// DocumentField is a field of a document inside a field, which is the container.
	DocumentField PlaceKind = "document field"
	// Denied is not a place in an object but the message of a denial.
	Denied PlaceKind = "denial"
)

// InText reports whether places of the kind are in command lines, or in units and files of an OperatingSystemConfig
// that are edited only through target.Object.
func InText(kind PlaceKind) bool {
	return slices.Contains([]PlaceKind{Flag, FeatureGate, MapFlagEntry, KubeletField, UnitOption}, kind)
}

// Place identifies the target of a write. It is comparable and printable.
type Place struct {
	Kind PlaceKind
	// Container is the container, unit or document with the place. It is empty for places of the pod or the object.
	Container string
	// Name is the name of the flag, label, volume and so on.
	Name string
}

// String formats the place for people.
func (p Place) String() string {
	name := p.Name
	if p.Kind == Flag {
		name = "--" + name
	}
	if p.Container == "" {
		return fmt.Sprintf("%s %s", p.Kind, name)
	}
	owner := "container"
	switch p.Kind {
	case UnitField, UnitOption, DropIn:
		owner = "unit"
	case DocumentField:
		return fmt.Sprintf("field %s of the document %s", name, p.Container)
	}
	return fmt.Sprintf("%s %s of %s %s", p.Kind, name, owner, p.Container)
}

// Covers reports whether the place contains another one: a field contains the fields below it.
func (p Place) Covers(q Place) bool {
	if p.Kind != q.Kind || p.Container != q.Container || p.Kind != Field && p.Kind != DocumentField {
		return false
	}
	rest, ok := strings.CutPrefix(q.Name, p.Name)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// Variables holds the variables for the expressions of a value.
type Variables = interpreter.Activation

// Argument describes one argument of an operation: for the reference, for the JSON Schema, and for the checks that all
// operations share.
type Argument struct {
	// Name is the key of the argument. It is empty for an operation without fixed fields; Type then describes
	// everything below the operation.
	Name string
	// Type is the type of the value.
	Type Type
	// Summary describes the argument in one line, without a full stop.
	Summary string
	// Required reports that the operation is refused without it.
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
	// Fields is a mapping with fixed Fields.
	Fields Form = "fields"
	// Shape is a value that Kubernetes decodes as the type Of: all its members, or only Values, except Without, plus
	// Fields.
	Shape Form = "shape"
	// Tree is anything.
	Tree Form = "tree"
	// Either is one of Types.
	Either Form = "either"
)

// Type is the type of an argument.
type Type struct {
	Form Form
	// Computed means that a string may contain ${ CEL }, and that a string with only an expression may replace a value of
	// any type.
	Computed bool
	// Values lists the values of a String or the members of a Shape; nil means any.
	Values []string
	// Without are members of a Shape, or names in a Mapping, that cannot be set.
	Without []string
	// Names matches the names in a Mapping; nil means any.
	Names *regexp.Regexp
	// Items is the type of each entry of a List or Mapping.
	Items *Type
	// Fields are the members of Fields, and additional members of a Shape that Kubernetes does not have.
	Fields []Argument
	// Of is the Go type of a Shape.
	Of reflect.Type
	// Types are the possibilities of Either.
	Types []Type
	// Null reports that null is allowed, too; the summary explains it.
	Null bool
}

// Type returns the type of everything below the operation.
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
	// longText is a longer text, which cannot be a number.
	longText = Type{Form: String, Computed: true}
	// oneOrMore is a text, or a list of texts for a repeatable value.
	oneOrMore = either(anyText, listOf(anyText))
	// fixedText is a string without expressions.
	fixedText = Type{Form: String}
	boolean   = Type{Form: Boolean}
	// anyTree is any YAML value with ${ CEL } in its strings.
	anyTree = Type{Form: Tree, Computed: true}
	// names is a list of names, which ${ } is no part of but in rules with forEach.
	names = listOf(Type{Form: Scalar})
)

// oneOfTexts returns the type of a string with a few possible values.
func oneOfTexts(values ...string) Type { return Type{Form: String, Values: values} }

// listOf returns the type of a list.
func listOf(items Type) Type { return Type{Form: List, Items: &items} }

// mappingOf returns the type of a mapping with names that the profile chooses.
func mappingOf(items Type) Type { return Type{Form: Mapping, Items: &items} }

// named bounds the names that the profile chooses.
func (t Type) named(names *regexp.Regexp, without ...string) Type {
	t.Names, t.Without = names, without
	return t
}

// members returns the type of a mapping with the given members.
func members(fields ...Argument) Type { return Type{Form: Fields, Fields: fields} }

// shapeLike returns the type of a value that Kubernetes decodes as a T, without some members; its strings may contain
// ${ CEL }.
func shapeLike[T any](without ...string) Type {
	return Type{Form: Shape, Of: reflect.TypeFor[T](), Without: without, Computed: true}
}

// only restricts a shape to the named members and adds more fields.
func (t Type) only(values []string, more ...Argument) Type {
	t.Values, t.Fields = values, more
	return t
}

// either returns the type of a value with one of several types.
func either(types ...Type) Type { return Type{Form: Either, Types: types} }

// orNull allows null instead of a value.
func orNull(t Type) Type {
	t.Null = true
	return t
}

// computed allows ${ CEL } instead of a value.
func computed(t Type) Type {
	t.Computed = true
	return t
}

// setAndRemove returns the arguments that most operations have: values to set, by name, and names to remove.
func setAndRemove(what string, values Type) []Argument {
	return []Argument{
		{Name: "set", Type: values, Summary: what + " to set, by name"},
		{Name: "remove", Type: names, Summary: "names of " + what + " to remove"},
	}
}

// inContainer returns the argument that selects a container.
func inContainer() Argument {
	return Argument{Name: "container", Type: fixedText, Summary: "the container; by default the one required by the contract"}
}

// Rules of findings about the arguments of operations.
const (
	// NothingToDo is an operation that changes nothing.
	NothingToDo source.LintRule = "nothing-to-do"
	// WrongTarget: the target does not support the operation or an argument.
	WrongTarget source.LintRule = "wrong-target"
	// OtherOperation is an edit for which another operation exists.
	OtherOperation source.LintRule = "other-operation"
	// WrongShape is a value that differs from the type in Kubernetes.
	WrongShape source.LintRule = "wrong-shape"
	// WrittenTwice is a place that one rule writes twice.
	WrittenTwice source.LintRule = "written-twice"
	// MisplacedField is a field that repeats another one or is not allowed in this place.
	MisplacedField source.LintRule = "misplaced-field"
	// UnknownKubeletField is a field that the kubelet's configuration does not have, or not in a version.
	UnknownKubeletField source.LintRule = "unknown-kubelet-field"
	// WrongUnit is a text that systemd does not read as a unit, or a section that it does not read.
	WrongUnit source.LintRule = "wrong-unit"
	// WrongPath: a text is not a path, or the path cannot be edited.
	WrongPath source.LintRule = "wrong-path"
)
