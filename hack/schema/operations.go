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

// argument returns the schema of an operation's argument.
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
	if err != nil || !t.Null || t.Form == operation.Tree {
		return schema, err
	}
	return anyOf(object{"type": []string{"null"}}, schema), nil
}

// anyOf combines schemas. If they differ only in type, it returns one schema with several types, which editors
// explain better.
func anyOf(possible ...object) object {
	merged, types := object{}, []string{}
	for _, schema := range possible {
		for key, value := range schema {
			if _, twice := merged[key]; twice && key != "type" {
				return object{"anyOf": possible}
			}
			merged[key] = value
		}
		of := typesOf(schema)
		if of == nil || slices.ContainsFunc(of, func(one string) bool { return slices.Contains(types, one) }) {
			return object{"anyOf": possible}
		}
		types = append(types, of...)
	}
	merged["type"] = types
	return merged
}

func typesOf(schema object) []string {
	switch of := schema["type"].(type) {
	case string:
		return []string{of}
	case []string:
		return of
	default:
		return nil
	}
}

func (b *builder) form(t operation.Type) (object, error) {
	switch t.Form {
	case operation.Scalar:
		return object{"type": []string{"string", "number", "boolean"}}, nil
	case operation.String:
		return stringSchema(t), nil
	case operation.Boolean:
		return object{
			"type": []string{"boolean", "string"}, "pattern": "^(true|false)$|" + expression,
			"patternErrorMessage": "It must be true or false, or be computed by ${ CEL }.",
		}, nil
	case operation.Octal:
		return object{
			"type": []string{"integer", "string"}, "pattern": "^0?[0-7]{1,4}$|" + expression,
			"patternErrorMessage": "It must be octal digits, such as 0755.",
		}, nil
	case operation.Tree:
		return object{}, nil
	case operation.List:
		return b.entries(t, "array", "items")
	case operation.Mapping:
		return b.entries(t, "object", "additionalProperties")
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
		return anyOf(possible...), nil
	default:
		return nil, fmt.Errorf("an argument of the form %q has no schema", t.Form)
	}
}

// entries returns the schema of a list or mapping. A computed one may be an expression.
func (b *builder) entries(t operation.Type, kind, member string) (object, error) {
	items, err := b.argumentType(*t.Items)
	schema := object{"type": kind}
	if t.Computed {
		schema = orExpression(kind)
	}
	schema[member] = items
	if t.Names != nil {
		names := object{"pattern": t.Names.String() + "|" + expression, "patternErrorMessage": "This name is not allowed here."}
		if t.Without != nil {
			names["not"] = object{"enum": t.Without}
		}
		schema["propertyNames"] = names
	}
	return schema, err
}

// expression matches any string with an expression. Rules with forEach may compute values that are fixed in
// others, so that expressions are allowed in all checked strings.
const expression = `\$\{`

func stringSchema(t operation.Type) object {
	if t.Values == nil {
		return object{"type": "string"}
	}
	return object{"anyOf": []object{{"enum": t.Values}, {"type": "string", "pattern": expression}}}
}

// members returns the schema of a mapping with the given arguments.
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

// partOfShape returns the schema of a Kubernetes type, restricted to the allowed members and extended by those
// of Graft.
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
