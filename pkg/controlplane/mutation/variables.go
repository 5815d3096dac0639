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
	size     expression.Size // estimated
	needs    []string        // the variables that it uses itself
	broken   bool            // something is wrong with it
}

// declareVariables compiles the variables so that each is typed by its expression. That takes two rounds: the first, in
// which all are of any type, finds which variable uses which; the second goes in that order. A variable with which something is
// wrong stays of any type.
func (s *scope) declareVariables(d *profile.Document) source.Findings {
	s.variableOf = map[string]*variable{}
	types := map[string]*cel.Type{}
	for _, name := range slices.Sorted(maps.Keys(d.Variables)) {
		s.variableOf[name] = &variable{name: name, node: d.Variables[name]}
		types[name] = cel.DynType
	}
	environment := s.environment
	findings := s.compileVariables(d, types, slices.Sorted(maps.Keys(types)))
	order, cycles := s.orderVariables()
	findings = append(findings, cycles...)
	for _, name := range order {
		if v := s.variableOf[name]; !v.broken {
			s.environment = environment
			findings = append(findings, s.compileVariables(d, types, []string{name})...)
			types[name] = v.celType
		}
	}
	for _, name := range order {
		if v := s.variableOf[name]; v.broken {
			types[name] = cel.DynType
			s.broken = append(s.broken, v.node)
			v.template, v.tree, v.needs = nil, operation.Value{}, nil
		} else {
			s.variables = append(s.variables, v)
		}
	}
	s.environment = environment
	return append(findings, s.compileVariables(d, types, nil)...)
}

// compileVariables compiles the named variables while those with a type are declared; it leaves the environment extended.
func (s *scope) compileVariables(d *profile.Document, types map[string]*cel.Type, names []string) source.Findings {
	s.varType = expression.NewObject("graft.Variables", maps.Clone(types))
	extended, err := s.environment.Extend(unlessBroken(d, expression.Variable{Name: variablesName, Object: s.varType}))
	if err != nil {
		return source.Findings{{Message: err.Error(), Rule: expression.WrongResult}}
	}
	sizes := expression.Sizes{}
	for name, v := range s.variableOf {
		if v.size.Length > 0 {
			sizes[variablesName+"."+name] = v.size
		}
	}
	s.environment = extended.Sized(sizes)
	var findings source.Findings
	for _, name := range names {
		v := s.variableOf[name]
		problems := v.compile(s.environment)
		v.broken = v.broken || len(problems) > 0
		findings = append(findings, problems...)
	}
	return findings
}

func (v *variable) compile(environment *expression.Environment) source.Findings {
	path := "variables." + v.name
	if v.node.Kind == yaml.ScalarNode && v.node.Tag == "!!str" {
		template, err := environment.Template(v.node.Value, expression.At(v.node))
		if err != nil {
			return source.FindingsOf(v.node, path, err).Of(expression.WrongResult)
		}
		v.template, v.celType, v.needs = template, template.Type(), variablesIn(template.References())
		v.size = template.Size()
		return nil
	}
	context := &operation.Context{Expressions: environment}
	tree, findings := context.Tree(v.node, path)
	v.tree, v.celType, v.needs = tree, typeOfNode(v.node), variablesIn(tree.References())
	v.size = tree.Size()
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
			if !v.broken {
				findings = append(findings, v.node.Finding("variables."+name, "variables use each other in a cycle: %s", strings.Join(cycle, " -> ")).Of(VariableCycle))
			}
			for _, name := range cycle {
				s.variableOf[name].broken = true
			}
			return
		}
		if done[name] || s.variableOf[name] == nil {
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
	return expression.ParseComputed(ctx, resolved.JSON)
}

// references are the dotted paths that the variable names.
func (v *variable) references() []string {
	if v.template != nil {
		return v.template.References()
	}
	return v.tree.References()
}
