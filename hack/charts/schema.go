// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Keys of a fragment that are not part of JSON Schema.
const (
	useKey         = "$use"         // includes a fragment of common.yaml
	fileKey        = "$file"        // includes a schema file of the repository
	withoutKey     = "$without"     // removes properties of that file
	definitionsKey = "$definitions" // at the top: definitions, by name
)

// generator generates the schema of a chart.
type generator struct {
	root string
	// common has fragments by name, said the chart's fragments by the path of the value, such as
	// vpa.updateMode.
	common, said map[string]map[string]any
	used         map[string]bool
}

// value returns the schema of a value: that of values.yaml, overridden by its fragment.
func (g *generator) value(node *yaml.Node, path string) (map[string]any, error) {
	said, err := g.fragment(path)
	if err != nil {
		return nil, err
	}
	schema := map[string]any{}
	switch {
	case node.Kind == yaml.MappingNode && len(node.Content) > 0 && said["properties"] == nil:
		if schema, err = g.mapping(node, path); err != nil {
			return nil, err
		}
	case node.Kind == yaml.ScalarNode && said["type"] == nil:
		if schema, err = scalar(node); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	case said == nil:
		return nil, fmt.Errorf("%s: values.yaml does not show its items: describe them in hack/charts/schema", path)
	}
	maps.Copy(schema, said)
	return schema, nil
}

func (g *generator) mapping(node *yaml.Node, path string) (map[string]any, error) {
	properties := map[string]any{}
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		schema, err := g.value(node.Content[i+1], strings.TrimPrefix(path+"."+key.Value, "."))
		if err != nil {
			return nil, err
		}
		comment := key.HeadComment
		if i == 0 && comment == "" {
			comment = node.HeadComment
		}
		if text := describe(comment); text != "" && schema["description"] == nil {
			schema["description"] = text
		}
		properties[key.Value] = schema
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}, nil
}

// scalar returns the schema of a default.
func scalar(node *yaml.Node) (map[string]any, error) {
	kind, ok := map[string]string{"!!str": "string", "!!int": "integer", "!!bool": "boolean"}[node.ShortTag()]
	if !ok {
		return nil, fmt.Errorf("a default of type %s does not determine the type of the value", node.ShortTag())
	}
	var value any
	if err := node.Decode(&value); err != nil {
		return nil, err
	}
	return map[string]any{"type": kind, "default": value}, nil
}

// describe returns the last paragraph of a comment. Earlier paragraphs describe other values.
func describe(comment string) string {
	paragraphs := strings.Split(comment, "\n\n")
	var words []string
	for line := range strings.Lines(paragraphs[len(paragraphs)-1]) {
		words = append(words, strings.Fields(strings.TrimLeft(line, "# \t"))...)
	}
	return strings.Join(words, " ")
}

// fragment returns the fragment of a value, or nil.
func (g *generator) fragment(path string) (map[string]any, error) {
	said, ok := g.said[path]
	if !ok {
		return nil, nil
	}
	g.used[path] = true
	return g.resolve(path, said)
}

// resolve includes the references of a fragment.
func (g *generator) resolve(path string, said map[string]any) (map[string]any, error) {
	schema := map[string]any{}
	if name, ok := said[useKey].(string); ok {
		common, ok := g.common[name]
		if !ok {
			return nil, fmt.Errorf("%s: common.yaml has no %s", path, name)
		}
		maps.Copy(schema, common)
	}
	if file, ok := said[fileKey].(string); ok {
		without, _ := said[withoutKey].([]any)
		read, err := g.file(file, without)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		maps.Copy(schema, read)
	}
	for key, value := range said {
		if key != useKey && key != fileKey && key != withoutKey {
			schema[key] = value
		}
	}
	return schema, nil
}

// file returns a generated schema without some of its properties. Its required list is dropped.
func (g *generator) file(name string, without []any) (map[string]any, error) {
	data, err := os.ReadFile(filepath.Join(g.root, name))
	if err != nil {
		return nil, err
	}
	var schema map[string]any
	if err := json.Unmarshal(data, &schema); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	for _, key := range []string{"$schema", "$comment", "title", "description"} {
		delete(schema, key)
	}
	if len(without) == 0 {
		return schema, nil
	}
	delete(schema, "required")
	properties, _ := schema["properties"].(map[string]any)
	for _, key := range without {
		if _, ok := properties[fmt.Sprint(key)]; !ok {
			return nil, fmt.Errorf("%s has no property %v", name, key)
		}
		delete(properties, fmt.Sprint(key))
	}
	return schema, nil
}

// definitions adds the definitions of the fragments. Each gets an $id, because included schemas refer to their
// own definitions.
func (g *generator) definitions(schema map[string]any) error {
	said, ok := g.said[definitionsKey]
	if !ok {
		return nil
	}
	g.used[definitionsKey] = true
	all := map[string]any{}
	for name, value := range said {
		fragment, _ := value.(map[string]any)
		resolved, err := g.resolve(name, fragment)
		if err != nil {
			return err
		}
		if fragment[fileKey] != nil {
			resolved["$id"] = name + ".json"
		}
		all[name] = resolved
	}
	schema["definitions"] = all
	return nil
}
