// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"go.yaml.in/yaml/v3"
	"k8s.io/utils/lru"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// itemName is what the expressions of a rule with forEach call the item.
const itemName = "item"

// membersKept is how many members of a family are kept compiled.
const membersKept = 512

// family is what a rule with forEach stands for: a rule for each item of a list or a mapping. Operations do not know of it.
// Names that the rule computes are put into the arguments for each item, and the operation is compiled on those; values are
// compiled once, when the profile is loaded.
type family struct {
	items       items
	names       []*computedName
	values      *compiledValues
	context     operation.Context
	environment *expression.Environment
	arguments   source.Node
	path        string
	generation  contract.Generation
	// members are the rules made so far, by their names; those used last.
	members *lru.Cache
	// secret says that the items come from a Secret, so that no message may tell one.
	secret bool
}

// items compute the list or mapping of a forEach.
type items struct {
	template *expression.Template
	tree     operation.Value
	node     source.Node
	// record is the type of an item where it has key and value; nil for items of a list, or of what is not known before.
	record *expression.Object
}

// family compiles the forEach of a rule.
func (c *profileCompiler) family(r v1alpha1.Rule, context operation.Context, arguments source.Node, path string) (*family, source.Findings) {
	f := &family{
		items: items{node: r.ForEach}, context: context, arguments: arguments, path: path, generation: c.options.Generation,
		members: lru.New(membersKept),
	}
	seen := c.seenBy(context.Target)
	result, findings := f.items.compile(seen, r.Path+".forEach")
	if len(findings) > 0 {
		return nil, findings
	}
	declared, problem := f.items.declare(result)
	if problem != "" {
		return nil, source.Findings{r.ForEach.Finding(r.Path+".forEach", "%s", problem).Of(source.WrongType)}
	}
	var err error
	if f.environment, err = seen.Extend(declared); err != nil {
		return nil, source.FindingsOf(r.ForEach, r.Path+".forEach", err).Of(expression.WrongResult)
	}
	f.values = &compiledValues{environment: f.environment, at: map[source.Position]bool{}, templates: map[compiledValue]*expression.Template{}}
	f.context.Expressions = f.values
	f.secret = len(c.scope.secretsIn(f.items.references())) > 0 || c.scope.readsSecret(context.Target, f.items.references())
	return f, nil
}

// compile reads the list or mapping, which is one expression or is written out; it gives the type.
func (i *items) compile(environment *expression.Environment, path string) (*cel.Type, source.Findings) {
	if i.node.Kind == yaml.ScalarNode {
		template, err := environment.Template(i.node.Value, expression.At(i.node))
		if err != nil {
			return nil, source.FindingsOf(i.node, path, err).Of(expression.WrongResult)
		}
		i.template = template
		return template.Type(), nil
	}
	context := operation.Context{Expressions: environment}
	tree, findings := context.Tree(i.node, path)
	i.tree = tree
	return typeOfNode(i.node), findings
}

// declare gives the variable item for a list or mapping of a type.
func (i *items) declare(result *cel.Type) (expression.Variable, string) {
	declared := expression.Variable{Name: itemName, Type: cel.DynType}
	switch result.Kind() {
	case types.DynKind:
	case types.ListKind:
		declared.Type = result.Parameters()[0]
	case types.MapKind:
		value := result.Parameters()[1]
		if value.Kind() == types.StructKind {
			value = cel.DynType
		}
		i.record = expression.NewObject("graft.Item", map[string]*cel.Type{"key": cel.StringType, "value": value})
		declared = expression.Variable{Name: itemName, Object: i.record}
	default:
		return declared, "must be a list or a mapping, is " + cel.FormatCELType(result)
	}
	return declared, ""
}

func (i *items) references() []string {
	if i.template != nil {
		return i.template.References()
	}
	return i.tree.References()
}

// references are the dotted paths of what the family needs beside its condition and values.
func (f *family) references() []string {
	references := f.items.references()
	for _, name := range f.names {
		references = append(references, name.template.References()...)
	}
	return references
}

// compileMember compiles the operation on the arguments with names in them.
func (f *family) compileMember(definition operation.Definition, replaced map[*yaml.Node]*yaml.Node) ([]operation.Write, source.Findings) {
	context := f.context
	return definition.Compile(&context, source.Node{Node: replace(f.arguments.Node, replaced), File: f.arguments.File}, f.path)
}

// usesItem says whether references name the item.
func usesItem(references []string) bool {
	for _, reference := range references {
		if root, _, _ := strings.Cut(reference, "."); root == itemName {
			return true
		}
	}
	return false
}
