// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"

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
	// conditions says how many rules have a condition, by its text.
	conditions map[string]int
}

// newScope declares the parameters, lookups and variables of a profile; the scope is nil when that is not possible.
func newScope(d *profile.Document, o Options) (*scope, source.Findings) {
	s := &scope{profile: d.Metadata.Name, conditions: map[string]int{}}
	base, err := expression.NewEnvironment(facts.Variables()...)
	if err != nil {
		return nil, source.FindingsOf(d.Node, "", err)
	}
	declared, findings := s.declareParameters(d)
	if len(findings) > 0 {
		return nil, findings
	}
	if findings := s.declareLookups(d); len(findings) > 0 {
		return nil, findings
	}
	more := []expression.Variable{declared, s.lookupsType.Variable()}
	if s.images, findings = readImages(d, o.ImageOverwrite); len(findings) > 0 {
		return nil, findings
	}
	if s.images != nil {
		more = append(more, s.images.variable())
	}
	s.environment, err = base.Extend(more...)
	if err != nil {
		return nil, source.FindingsOf(d.Node, "", err)
	}
	if findings := s.declareVariables(d); len(findings) > 0 {
		return nil, findings
	}
	if findings := s.nameLookups(d); len(findings) > 0 {
		return nil, findings
	}
	return s, nil
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
			findings = append(findings, n.Finding(path, "a parameter needs a default value"))
			continue
		}
		if problems := misread(n, path); len(problems) > 0 {
			findings = append(findings, problems...)
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
