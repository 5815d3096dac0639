// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
)

// argument is the schema of an operation's argument.
func (b *builder) argument(a operation.Argument) (object, error) {
	schema, err := b.argumentType(a.Type)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	if a.Summary == "" {
		return schema, nil
	}
	schema = maps.Clone(schema)
	schema["description"] = a.Summary
	return schema, nil
}

func (b *builder) argumentType(t operation.Type) (object, error) {
	schema, err := b.form(t)
	if err != nil || !t.Null {
		return schema, err
	}
	return object{"anyOf": []object{{"type": "null"}, schema}}, nil
}

func (b *builder) form(t operation.Type) (object, error) {
	switch t.Form {
	case operation.Scalar:
		return object{"type": []string{"string", "number", "boolean"}}, nil
	case operation.String:
		return stringSchema(t), nil
	case operation.Boolean:
		return object{"type": []string{"boolean", "string"}, "pattern": "^(true|false)$|" + expression}, nil
	case operation.Octal:
		return object{"type": []string{"integer", "string"}, "pattern": "^0?[0-7]{1,4}$|" + expression}, nil
	case operation.Tree:
		return object{}, nil
	case operation.List:
		items, err := b.argumentType(*t.Items)
		return object{"type": "array", "items": items}, err
	case operation.Mapping:
		items, err := b.argumentType(*t.Items)
		return object{"type": "object", "additionalProperties": items}, err
	case operation.Fields:
		return b.members(t.Fields)
	case operation.Shape:
		return b.partOfShape(t)
	case operation.Either:
		var possible []object
		for _, one := range t.Types {
			schema, err := b.argumentType(one)
			if err != nil {
				return nil, err
			}
			possible = append(possible, schema)
		}
		return object{"anyOf": possible}, nil
	default:
		return nil, fmt.Errorf("an argument of the form %q has no schema", t.Form)
	}
}

// expression is in every string that holds one. A rule with forEach may compute what is fixed in others, so that it is allowed
// wherever a text is judged.
const expression = `\$\{`

func stringSchema(t operation.Type) object {
	if t.Values == nil {
		return object{"type": "string"}
	}
	return object{"anyOf": []object{{"enum": t.Values}, {"type": "string", "pattern": expression}}}
}

// members is a mapping with the given arguments.
func (b *builder) members(arguments []operation.Argument) (object, error) {
	properties, required := object{}, []string{}
	for _, a := range arguments {
		schema, err := b.argument(a)
		if err != nil {
			return nil, err
		}
		properties[a.Name] = schema
		if a.Required {
			required = append(required, a.Name)
		}
	}
	schema := object{"type": "object", "properties": properties, "additionalProperties": false, "minProperties": 1}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema, nil
}

// partOfShape is the schema of a type of Kubernetes with the members that may be given, and those which only Graft knows.
func (b *builder) partOfShape(t operation.Type) (object, error) {
	all, err := b.shapeFields(t.Of)
	if err != nil {
		return nil, err
	}
	properties := object{}
	for name, schema := range all {
		if (t.Values == nil || slices.Contains(t.Values, name)) && !slices.Contains(t.Without, name) {
			properties[name] = schema
		}
	}
	for _, name := range t.Values {
		if properties[name] == nil {
			return nil, fmt.Errorf("%s has no member %q", t.Of, name)
		}
	}
	for _, a := range t.Fields {
		if properties[a.Name], err = b.argument(a); err != nil {
			return nil, err
		}
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false}, nil
}
