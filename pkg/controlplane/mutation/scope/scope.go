// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package scope declares the names that a profile adds to expressions: parameters, variables, lookups and images. It
// finds the facts that expressions need, and reads their values for one control plane. Start reading at New and View.
package scope

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

const (
	// WrongLookup means that a lookup is invalid.
	WrongLookup source.LintRule = "wrong-lookup"
	// MisreadNumber means that YAML reads a number as another one.
	MisreadNumber source.LintRule = "misread-number"
	// VariableCycle means that variables use each other in a cycle.
	VariableCycle source.LintRule = "variable-cycle"
)

// ItemName is the name of the item in expressions of a rule with forEach.
const ItemName = "item"

// Names that a profile adds to the variables of every expression.
const (
	ParametersName = "parameters"
	VariablesName  = "variables"
	LookupsName    = "lookups"
)

// Scope provides the names that expressions of one profile can use in addition to the facts.
type Scope struct {
	Profile     string
	Environment *expression.Environment
	parameters  ref.Val
	Lookups     []*Lookup // sorted by name
	lookupsType *facts.Lookups
	Variables   []*variable
	VariableOf  map[string]*variable
	varType     *expression.ObjectType
	images      *images // nil for a profile without
	// Broken lists the values that could not be compiled.
	Broken []source.Node
}

// variable is a named value of a profile.
type variable struct {
	Computed

	Name   string
	broken bool // it is invalid
}

// UsesItem reports whether references contain the item.
func UsesItem(references []string) bool {
	return slices.ContainsFunc(references, func(reference string) bool {
		root, _ := SplitReference(reference)
		return root == ItemName
	})
}

// New declares the parameters, lookups and variables of a profile. An invalid declaration is a finding and then
// declared with any type, so that its uses cause no further findings. It returns nil if nothing can be declared.
func New(d *profile.Document, overwrite *image.Vector) (*Scope, source.Findings) {
	s := &Scope{Profile: d.Metadata.Name}
	base, err := expression.NewEnvironment(facts.Variables()...)
	if err != nil {
		return nil, source.FindingsOf(d.Node, "", err).Of(expression.WrongResult)
	}
	declared, findings := s.declareParameters(d)
	findings = append(findings, s.declareLookups(d)...)
	more := []expression.Variable{unlessBroken(d, declared), unlessBroken(d, s.lookupsType.Variable())}
	var problems source.Findings
	if s.images, problems = readImages(d, overwrite); s.images != nil {
		more = append(more, s.images.variable())
	} else if len(problems) > 0 {
		more = append(more, expression.Variable{Name: ImagesName, Type: cel.MapType(cel.StringType, cel.StringType)})
	}
	findings = append(findings, problems...)
	s.Environment, err = base.Extend(more...)
	if err != nil {
		return nil, append(findings, source.FindingsOf(d.Node, "", err).Of(expression.WrongResult)...)
	}
	findings = append(findings, s.declareVariables(d)...)
	return s, append(findings, s.nameLookups(d)...)
}

// unlessBroken returns the variable for a section of a profile. If the section has findings, the variable and its
// members have the dynamic type.
func unlessBroken(d *profile.Document, v expression.Variable) expression.Variable {
	if slices.ContainsFunc(d.Findings, func(f source.Finding) bool {
		if f.Partial {
			return f.Path == "" && f.Fix != nil && strings.Trim(f.Fix.New, `"'`) == v.Name
		}
		return f.Path == v.Name && f.Severity == source.Error
	}) {
		return expression.Variable{Name: v.Name, Type: cel.DynType}
	}
	return v
}

// declareParameters declares the object type of the parameters, and returns their value.
func (s *Scope) declareParameters(d *profile.Document) (expression.Variable, source.Findings) {
	var (
		fields   = map[string]*cel.Type{}
		values   = expression.Values{}
		findings source.Findings
	)
	for _, name := range slices.Sorted(maps.Keys(d.Parameters)) {
		n, path := d.Parameters[name], "parameters."+name
		var value any
		if err := n.Decode(&value); n.Absent() || err != nil {
			findings = append(findings, n.Finding(path, "a parameter needs a default value").Of(source.MissingField))
			fields[name] = cel.DynType
			continue
		}
		if problems := misread(n, path); len(problems) > 0 {
			findings = append(findings, problems...)
			fields[name] = cel.DynType
			continue
		}
		fields[name], values[name] = typeOf(value), value
	}
	object := expression.NewObjectType("graft.Parameters", fields)
	s.parameters = object.Value(values)
	return expression.Variable{Name: ParametersName, Object: object}, findings
}

// typeOf returns the CEL type of a YAML or JSON value.
func typeOf(value any) *cel.Type {
	switch value := value.(type) {
	case string:
		return cel.StringType
	case bool:
		return cel.BoolType
	case int, int64:
		return cel.IntType
	case float64:
		if value == float64(int64(value)) {
			return cel.IntType
		}
		return cel.DoubleType
	case []any:
		return cel.ListType(cel.DynType)
	case map[string]any:
		return cel.MapType(cel.StringType, cel.DynType)
	default:
		return cel.DynType
	}
}

// declareLookups declares each lookup as an object with its selected fields. The object names are compiled later, after
// the variables are known.
func (s *Scope) declareLookups(d *profile.Document) source.Findings {
	var (
		findings source.Findings
		requests []facts.LookupRequest
		unknown  []string
	)
	for _, name := range slices.Sorted(maps.Keys(d.Lookups)) {
		declared := d.Lookups[name]
		objects := objectsOf(declared)
		if len(objects) != 1 || !source.IsIdentifier(name) {
			// It has a finding already, and its type is unknown.
			unknown = append(unknown, name)
			s.Broken = append(s.Broken, NodeAt(d.Node, LookupsName, name))
			continue
		}
		object := objects[0]
		request := facts.LookupRequest{
			Name: name, GroupVersionKind: object.kind, Resource: object.resource, Scope: object.scope, Keys: declared.Keys,
			Fields: make(map[string]fieldpath.Path, len(declared.Paths)), Labels: declared.Labels, Annotations: declared.Annotations,
			Checksum: declared.Checksum, Optional: declared.Optional,
		}
		for _, field := range slices.Sorted(maps.Keys(declared.Paths)) {
			parsed, err := fieldpath.Parse(declared.Paths[field])
			if err != nil {
				findings = append(findings, NodeAt(d.Node, "lookups", name, "paths", field).Finding("lookups."+name+".paths."+field, "%s", err).Of(operation.WrongPath))
			}
			request.Fields[field] = parsed
		}
		requests = append(requests, request)
		s.Lookups = append(s.Lookups, &Lookup{
			Request: request, Scope: s, written: object.name, At: object.name.At.Position(), Shown: object.name.Value,
		})
	}
	s.lookupsType = facts.NewLookups(requests, unknown...)
	return findings
}

// nameLookups compiles the names of the objects. They must not depend on results of lookups.
func (s *Scope) nameLookups(d *profile.Document) source.Findings {
	var findings source.Findings
	for _, l := range s.Lookups {
		declared, path := d.Lookups[l.Request.Name], "lookups."+l.Request.Name
		if l.written.Value == "" {
			continue // a finding reports it already
		}
		var problems source.Findings
		if l.Name, l.Request.ObjectName, problems = s.lookupName(l.written, path); len(problems) > 0 {
			findings = append(findings, problems...)
			s.Broken = append(s.Broken, NodeAt(d.Node, LookupsName, l.Request.Name))
			continue
		}
		if declared.Object != nil && declared.Object.Namespace.Value != "" {
			l.Namespace, l.Request.Namespace, problems = s.lookupName(declared.Object.Namespace, path+".object.namespace")
			findings = append(findings, problems...)
		}
		l.Request.Computed = l.Name != nil || l.Namespace != nil
	}
	return findings
}

// lookupName compiles one name: a template, or the name itself when it is constant.
func (s *Scope) lookupName(text source.Text, at string) (*expression.Template, string, source.Findings) {
	template, err := s.Environment.Template(text.Value, expression.At(text.At))
	if err != nil {
		findings := source.FindingsOf(text.At, at, err).Of(WrongLookup)
		for i := range findings {
			if missing := "undeclared reference to '" + ItemName + "'"; strings.HasPrefix(findings[i].Message, missing) {
				findings[i].Message = missing + "; a lookup is made once for all items of a forEach"
			}
		}
		return nil, "", findings
	}
	if t := template.Type(); !t.IsExactType(cel.StringType) && t.Kind() != types.DynKind {
		return nil, "", source.Findings{text.At.Finding(at, "a name must be a string, is %s", cel.FormatCELType(t)).Of(WrongLookup)}
	}
	var read []string
	for _, l := range s.Reach(template.References()).Lookups {
		read = append(read, l.Request.Name)
	}
	if len(read) > 0 {
		return nil, "", source.Findings{text.At.Finding(at, "the name of a looked-up object cannot depend on a lookup (%s)",
			strings.Join(read, ", ")).Of(WrongLookup)}
	}
	if !template.Constant() {
		return template, "", nil
	}
	name, err := template.String(context.Background(), nil)
	if err == nil {
		err = checkName(name)
	}
	return nil, name, source.FindingsOf(text.At, at, err).Of(WrongLookup)
}

// NodeAt returns the value below the keys, or its nearest existing ancestor.
func NodeAt(n source.Node, keys ...string) source.Node {
	for _, key := range keys {
		i := slices.IndexFunc(n.Fields(), func(f source.Field) bool { return f.Key.Value == key })
		if i < 0 {
			return n
		}
		n = n.Fields()[i].Value
	}
	return n
}

// declareVariables compiles the variables in two rounds, so that each has the type of its expression. In the first
// round all variables have the dynamic type, and the dependencies are found. The second round compiles each after those
// that it uses. A cycle is a finding that lists all its variables. A variable with a finding keeps the dynamic type.
func (s *Scope) declareVariables(d *profile.Document) source.Findings {
	names, types := slices.Sorted(maps.Keys(d.Variables)), map[string]*cel.Type{}
	s.VariableOf = map[string]*variable{}
	for _, name := range names {
		s.VariableOf[name] = &variable{Name: name, Computed: Computed{Node: d.Variables[name]}}
		types[name] = cel.DynType
	}
	environment := s.Environment
	findings := s.compileVariables(d, types, names)
	done := map[string]bool{}
	var visit func(name string, path []string)
	visit = func(name string, path []string) {
		v := s.VariableOf[name]
		if i := slices.Index(path, name); i >= 0 {
			cycle := append(slices.Clone(path[i:]), name)
			if !v.broken {
				findings = append(findings, v.Node.Finding("variables."+name, "variables use each other in a cycle: %s", strings.Join(cycle, " -> ")).Of(VariableCycle))
			}
			for _, name := range cycle {
				s.VariableOf[name].broken = true
			}
			return
		}
		if done[name] || v == nil {
			return
		}
		for _, need := range VariablesIn(v.References()) {
			visit(need, append(path, name))
		}
		done[name] = true
		if !v.broken {
			s.Environment = environment
			findings = append(findings, s.compileVariables(d, types, []string{name})...)
		}
		if v.broken {
			s.Broken = append(s.Broken, v.Node)
			v.Computed = Computed{Node: v.Node}
			return
		}
		types[name], s.Variables = v.Type, append(s.Variables, v)
	}
	for _, name := range names {
		visit(name, nil)
	}
	s.Environment = environment
	return append(findings, s.compileVariables(d, types, nil)...)
}

// compileVariables compiles the named variables, with those that have a type already declared. It leaves the
// environment extended.
func (s *Scope) compileVariables(d *profile.Document, types map[string]*cel.Type, names []string) source.Findings {
	s.varType = expression.NewObjectType("graft.Variables", maps.Clone(types))
	extended, err := s.Environment.Extend(unlessBroken(d, expression.Variable{Name: VariablesName, Object: s.varType}))
	if err != nil {
		return source.Findings{{Message: err.Error(), Rule: expression.WrongResult}}
	}
	s.Environment = extended
	var findings source.Findings
	for _, name := range names {
		var problems source.Findings
		v := s.VariableOf[name]
		v.Computed, problems = Compile(s.Environment, v.Node, "variables."+name)
		v.broken = v.broken || len(problems) > 0
		findings = append(findings, problems...)
	}
	return findings
}

// Computed is a value of a profile: a text with expressions, or a list or mapping of them.
type Computed struct {
	Node source.Node
	// Template is the text; nil for other values.
	Template *expression.Template
	tree     operation.Value
	// Type is the type of the value.
	Type *cel.Type
}

// Compile compiles a value. It returns a value of the dynamic type if there are findings.
func Compile(environment *expression.Environment, n source.Node, path string) (Computed, source.Findings) {
	c := Computed{Node: n, Type: cel.DynType}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		template, err := environment.Template(n.Value, expression.At(n))
		if err != nil {
			return c, source.FindingsOf(n, path, err).Of(expression.WrongResult)
		}
		c.Template, c.Type = template, template.Type()
		return c, nil
	}
	context := &operation.Context{Expressions: environment}
	tree, findings := context.Tree(n, path)
	c.tree = tree
	var value any
	if !n.Absent() && n.Decode(&value) == nil {
		c.Type = typeOf(value)
	}
	return c, findings
}

// References returns the dotted paths that the value uses.
func (c Computed) References() []string {
	if c.Template != nil {
		return c.Template.References()
	}
	return c.tree.References()
}

// Evaluate computes the value for CEL.
func (c Computed) Evaluate(ctx context.Context, variables operation.Variables) (any, error) {
	if c.Template != nil {
		return c.Template.Evaluate(ctx, variables)
	}
	resolved, err := operation.Write{Value: c.tree}.Resolve(ctx, variables)
	if err != nil {
		return nil, err
	}
	return expression.ParseComputed(ctx, resolved.JSON)
}

// VariablesIn returns the names of the variables among references.
func VariablesIn(references []string) []string {
	var names []string
	for _, reference := range references {
		if root, name := SplitReference(reference); root == VariablesName && name != "" {
			names = append(names, name)
		}
	}
	return names
}

// misread warns of numbers that YAML reads differently from their text, such as 1.30, 0755 or 1_000: the author may
// have meant a string.
func misread(n source.Node, path string) source.Findings {
	var findings source.Findings
	for _, field := range n.Fields() {
		findings = append(findings, misread(field.Value, path+"."+field.Key.Value)...)
	}
	for i, item := range n.Items() {
		findings = append(findings, misread(item, path+"["+strconv.Itoa(i)+"]")...)
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float" {
		return findings
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return source.Findings{n.Finding(path, "cannot be read as a number; put it in quotes if it is text").Of(MisreadNumber).Replace(n, `"`+n.Value+`"`)}
	}
	read := fmt.Sprint(value)
	if float, ok := value.(float64); ok {
		read = strconv.FormatFloat(float, 'f', -1, 64)
	}
	if read != strings.TrimPrefix(n.Value, "+") {
		finding := n.Finding(path, "%s is read as %s; put it in quotes if it is text, or write %s", n.Value, read, read)
		return source.Findings{finding.Of(MisreadNumber).Replace(n, `"`+n.Value+`"`)}
	}
	return nil
}

// View returns the values of the scope for one control plane, without lookups. The pool is the worker pool of the
// object.
func (s *Scope) View(ctx context.Context, parent operation.Variables, f *facts.Facts, pool string) *View {
	return &View{parent: parent, context: ctx, Scope: s, facts: f, pool: pool}
}
