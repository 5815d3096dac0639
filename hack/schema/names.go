// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
)

// withNames returns the name of an operation's definition. For flags and feature gates of a component of Kubernetes,
// the definition offers their names to editors, each with its versions. Other names stay valid: lint knows the
// versions that a profile is for. Components with the same names share a definition.
func (b *builder) withNames(operation, component string) string {
	name := "operation." + operation
	if !slices.Contains(kubeflags.Components(), component) {
		return name
	}
	general, _ := b.definitions[name].(object)
	special := maps.Clone(general)
	switch operation {
	case "flags":
		properties := maps.Clone(general["properties"].(object))
		set := maps.Clone(properties["set"].(object))
		versions := func(name string) string {
			history, _ := kubeflags.Flag(component, name)
			return history.Span.String()
		}
		set["properties"] = b.offered("flag", set["additionalProperties"], component, kubeflags.Flags, versions)
		for _, own := range []string{"disable-admission-plugins", "enable-admission-plugins", "feature-gates"} {
			delete(set["properties"].(object), own) // there are operations for them
		}
		properties["set"], special["properties"] = set, properties
	case "featureGates":
		versions := func(name string) string {
			history, _ := kubeflags.Gate(component, name)
			return history.String()
		}
		special["properties"] = b.offered("gate", general["additionalProperties"], component, kubeflags.Gates, versions)
	default:
		return name
	}
	for _, known := range sortedKeys(b.definitions) {
		if strings.HasPrefix(known, name+".") && reflect.DeepEqual(b.definitions[known], special) {
			return known
		}
	}
	b.definitions[name+"."+component] = special
	return name + "." + component
}

// offered returns the names of all versions as properties with the same schema and a description each.
func (b *builder) offered(
	value string, schema any, component string,
	names func(string, kubeflags.Minor) []string, describe func(string) string,
) object {
	b.definitions[value] = schema.(object)
	properties := object{}
	for _, version := range kubeflags.Versions() {
		for _, name := range names(component, version) {
			properties[name] = object{"$ref": definitions + value, "description": describe(name)}
		}
	}
	return properties
}
