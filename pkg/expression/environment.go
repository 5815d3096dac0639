// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Variable is a name that expressions may use.
type Variable struct {
	// Name is a CEL identifier.
	Name string
	// Type is the type of the values; nil means the type of Object.
	Type *cel.Type
	// Object declares the object type of which Type is made, for variables with fields.
	Object *Object
	// Keys are all keys that a map may have, where they are known: another one that is written out is then an error.
	Keys []string
}

func (v Variable) celType() *cel.Type {
	if v.Type == nil && v.Object != nil {
		return v.Object.Type()
	}
	return v.Type
}

// Environment compiles expressions over a fixed set of variables. It is immutable and safe for concurrent use.
type Environment struct {
	env       *cel.Env
	types     *typeProvider
	variables map[string]Variable
	// sizes are estimates of the sizes of variables and their fields.
	sizes Sizes
	// elsewhere are variables that expressions of other places see, and where that is.
	elsewhere map[string]string

	// The same with macros kept as they are written, for explanations.
	once        sync.Once
	macros      *cel.Env
	macrosError error
}

// NewEnvironment makes an environment with these variables.
func NewEnvironment(variables ...Variable) (*Environment, error) {
	return build(nil, variables)
}

// Extend makes an environment that has these variables too. A variable that exists already is declared anew.
func (e *Environment) Extend(variables ...Variable) (*Environment, error) {
	extended, err := build(e.variables, variables)
	if err == nil {
		extended.elsewhere, extended.sizes = e.elsewhere, e.sizes
	}
	return extended, err
}

// Sized returns an environment that knows the sizes of variables or fields.
func (e *Environment) Sized(sizes Sizes) *Environment {
	return &Environment{env: e.env, types: e.types, variables: e.variables, elsewhere: e.elsewhere, sizes: sizes}
}

// Without makes an environment that has not these variables; the values say where there are such, for who names one all the same.
func (e *Environment) Without(elsewhere map[string]string) (*Environment, error) {
	left := maps.Clone(e.variables)
	maps.DeleteFunc(left, func(name string, _ Variable) bool { return elsewhere[name] != "" })
	without, err := build(left, nil)
	if err == nil {
		without.elsewhere, without.sizes = elsewhere, e.sizes
	}
	return without, err
}

// Variables are the names of the variables, sorted.
func (e *Environment) Variables() []string {
	return slices.Sorted(maps.Keys(e.variables))
}

// reserved are the words that CEL's grammar keeps for itself; as names of fields they are allowed.
var reserved = []string{
	"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
	"namespace", "null", "package", "return", "true", "var", "void", "while",
}

func build(inherited map[string]Variable, added []Variable) (*Environment, error) {
	base, err := baseEnvironment()
	if err != nil {
		return nil, fmt.Errorf("building the CEL environment: %w", err)
	}
	variables := maps.Clone(inherited)
	if variables == nil {
		variables = map[string]Variable{}
	}
	for _, v := range added {
		if !source.IsIdentifier(v.Name) || slices.Contains(reserved, v.Name) || v.celType() == nil {
			return nil, fmt.Errorf("declaring variable %q: a variable needs an identifier that CEL does not reserve, and a type", v.Name)
		}
		variables[v.Name] = v
	}
	provider := &typeProvider{Provider: base.CELTypeProvider(), objects: map[string]*Object{}}
	options := []cel.EnvOption{cel.CustomTypeProvider(types.Provider(provider)), cel.CustomTypeAdapter(adapter{base.CELTypeAdapter()})}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		v := variables[name]
		if err := provider.declare(v.Object); err != nil {
			return nil, fmt.Errorf("declaring variable %q: %w", name, err)
		}
		options = append(options, cel.Variable(name, v.celType()))
		if v.Keys != nil {
			options = append(options, cel.ASTValidators(keyLiterals{name, v.Keys}))
		}
	}
	env, err := base.Extend(options...)
	if err != nil {
		return nil, fmt.Errorf("building the CEL environment: %w", err)
	}
	return &Environment{env: env, types: provider, variables: variables}, nil
}

// baseEnvironment holds the language and its functions, without variables. It takes milliseconds to build and never changes.
var baseEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.OptionalTypes(),
		library.URLs(),
		library.Regex(),
		library.Lists(),
		library.Quantity(),
		library.IP(),
		library.CIDR(),
		library.Format(),
		library.SemverLib(library.SemverVersion(1)),
		ext.Strings(ext.StringsVersion(2)),
		ext.Sets(),
		ext.Lists(ext.ListsVersion(3)),
		ext.TwoVarComprehensions(),
		ownFunctions(),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
			cel.ValidateRegexLiterals(),
			constraintLiterals{},
		),
	)
})
