// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// The names of what a profile adds to what every expression sees.
const (
	parametersName = "parameters"
	variablesName  = "variables"
	lookupsName    = "lookups"
)

// scope is what the expressions of one profile see beside the facts.
type scope struct {
	profile     string
	environment *expression.Environment
	parameters  ref.Val
	lookups     []*lookup // sorted by name
	lookupsType *facts.Lookups
	variables   []*variable
	variableOf  map[string]*variable
	varType     *expression.Object
	images      *images // nil for a profile without
	// broken are the values that could not be compiled.
	broken []source.Node
	// node is the profile as it is written.
	node *yaml.Node
	// conditions says how many rules have a condition, by its text.
	conditions map[string]int
}

// newScope declares the parameters, lookups and variables of a profile. What is wrong with one of them is a finding, and it is then
// declared so that every use of it is possible. The scope is nil when nothing can be declared.
func newScope(d *profile.Document, o Options) (*scope, source.Findings) {
	s := &scope{profile: d.Metadata.Name, node: d.Node.Node, conditions: map[string]int{}}
	base, err := expression.NewEnvironment(facts.Variables()...)
	if err != nil {
		return nil, source.FindingsOf(d.Node, "", err).Of(expression.WrongResult)
	}
	declared, findings := s.declareParameters(d)
	findings = append(findings, s.declareLookups(d)...)
	if s.lookupsType == nil {
		return nil, findings
	}
	more := []expression.Variable{unlessBroken(d, declared), unlessBroken(d, s.lookupsType.Variable())}
	var problems source.Findings
	if s.images, problems = readImages(d, o.ImageOverwrite); s.images != nil {
		more = append(more, s.images.variable())
	} else if len(problems) > 0 {
		more = append(more, expression.Variable{Name: imagesName, Type: cel.MapType(cel.StringType, cel.StringType)})
	}
	findings = append(findings, problems...)
	s.environment, err = base.Extend(more...)
	if err != nil {
		return nil, append(findings, source.FindingsOf(d.Node, "", err).Of(expression.WrongResult)...)
	}
	findings = append(findings, s.declareVariables(d)...)
	return s, append(findings, s.nameLookups(d)...)
}

// unlessBroken is the variable for a section of a profile; where nobody knows what the section says, it is of any type, as its members are.
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

// declareParameters makes an object type of the parameters, and a value.
func (s *scope) declareParameters(d *profile.Document) (expression.Variable, source.Findings) {
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
		fields[name], values[name] = typeOf(value), normal(value)
	}
	object := expression.NewObject("graft.Parameters", fields)
	s.parameters = object.Value(values)
	return expression.Variable{Name: parametersName, Object: object}, findings
}

// typeOf is the CEL type of a YAML or JSON value.
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

// normal makes a number that is whole an int64, as JSON does not tell the two apart.
func normal(value any) any {
	switch value := value.(type) {
	case int:
		return int64(value)
	case float64:
		if value == float64(int64(value)) {
			return int64(value)
		}
	}
	return value
}
