// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// variable is a named value of a profile: one scalar, or a list or mapping of them.
type variable struct {
	name     string
	node     source.Node
	template *expression.Template
	tree     operation.Value
	celType  *cel.Type
	needs    []string // the variables that it uses itself
}

// declareVariables compiles the variables so that each is typed by its expression. That takes two rounds: the first, in
// which all are of any type, finds which variable uses which; the second goes in that order.
func (s *scope) declareVariables(d *profile.Document) source.Findings {
	s.variableOf = map[string]*variable{}
	untyped := map[string]*cel.Type{}
	for _, name := range slices.Sorted(maps.Keys(d.Variables)) {
		s.variableOf[name] = &variable{name: name, node: d.Variables[name]}
		untyped[name] = cel.DynType
	}
	environment := s.environment
	if findings := s.compileVariables(untyped, slices.Sorted(maps.Keys(untyped))); len(findings) > 0 {
		return findings
	}
	order, findings := s.orderVariables()
	if len(findings) > 0 {
		return findings
	}
	typed := map[string]*cel.Type{}
	for _, name := range order {
		s.environment = environment
		if findings := s.compileVariables(typed, []string{name}); len(findings) > 0 {
			return findings
		}
		typed[name] = s.variableOf[name].celType
		s.variables = append(s.variables, s.variableOf[name])
	}
	s.environment = environment
	return s.compileVariables(typed, nil)
}

// compileVariables compiles the named variables while those with a type are declared; it leaves the environment extended.
func (s *scope) compileVariables(types map[string]*cel.Type, names []string) source.Findings {
	s.varType = expression.NewObject("graft.Variables", types)
	extended, err := s.environment.Extend(expression.Variable{Name: variablesName, Object: s.varType})
	if err != nil {
		return source.Findings{{Message: err.Error()}}
	}
	s.environment = extended
	var findings source.Findings
	for _, name := range names {
		findings = append(findings, s.variableOf[name].compile(extended)...)
	}
	return findings
}

func (v *variable) compile(environment *expression.Environment) source.Findings {
	path := "variables." + v.name
	if v.node.Kind == yaml.ScalarNode && v.node.Tag == "!!str" {
		template, err := environment.Template(v.node.Value, expression.At(v.node))
		if err != nil {
			return source.FindingsOf(v.node, path, err)
		}
		v.template, v.celType, v.needs = template, template.Type(), variablesIn(template.References())
		return nil
	}
	context := &operation.Context{Expressions: environment}
	tree, findings := context.Tree(v.node, path)
	v.tree, v.celType, v.needs = tree, typeOfNode(v.node), variablesIn(tree.References())
	return findings
}

func typeOfNode(n source.Node) *cel.Type {
	var value any
	if n.Absent() || n.Decode(&value) != nil {
		return cel.DynType
	}
	return typeOf(value)
}

// variablesIn are the names of the variables among references.
func variablesIn(references []string) []string {
	var names []string
	for _, reference := range references {
		if path, ok := strings.CutPrefix(reference, variablesName+"."); ok {
			name, _, _ := strings.Cut(path, ".")
			names = append(names, name)
		}
	}
	return names
}

// orderVariables sorts the variables so that each stands behind those it uses; a cycle is a finding with its whole round.
func (s *scope) orderVariables() ([]string, source.Findings) {
	var (
		order    []string
		findings source.Findings
		done     = map[string]bool{}
		visit    func(name string, path []string)
	)
	visit = func(name string, path []string) {
		if i := slices.Index(path, name); i >= 0 {
			cycle := append(slices.Clone(path[i:]), name)
			v := s.variableOf[name]
			findings = append(findings, v.node.Finding("variables."+name, "variables use each other in a cycle: %s", strings.Join(cycle, " -> ")))
			return
		}
		if done[name] || len(findings) > 0 {
			return
		}
		for _, need := range s.variableOf[name].needs {
			visit(need, append(path, name))
		}
		done[name] = true
		order = append(order, name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.variableOf)) {
		visit(name, nil)
	}
	return order, findings
}

// evaluate computes the variable as a value for CEL.
func (v *variable) evaluate(ctx context.Context, variables operation.Variables) (any, error) {
	if v.template != nil {
		return v.template.Evaluate(ctx, variables)
	}
	resolved, err := operation.Write{Value: v.tree}.Resolve(ctx, variables)
	if err != nil {
		return nil, err
	}
	return expression.ParseJSON(resolved.JSON)
}

// references are the dotted paths that the variable names.
func (v *variable) references() []string {
	if v.template != nil {
		return v.template.References()
	}
	return v.tree.References()
}
