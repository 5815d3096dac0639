// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
)

// withNames returns the definition of an operation; for flags and feature gates of a component of Kubernetes one that offers their names to
// editors, each with its versions. Other names stay valid: lint knows the versions that a profile is for.
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
		set["properties"] = b.offered("flag", set["additionalProperties"], component, kubeflags.Flags, func(name string) string {
			history, _ := kubeflags.Flag(component, name)
			return history.Span.String()
		})
		for _, own := range []string{"disable-admission-plugins", "enable-admission-plugins", "feature-gates"} {
			delete(set["properties"].(object), own) // which have operations of their own
		}
		properties["set"], special["properties"] = set, properties
	case "featureGates":
		special["properties"] = b.offered("gate", general["additionalProperties"], component, kubeflags.Gates, func(name string) string {
			history, _ := kubeflags.Gate(component, name)
			return history.String()
		})
	default:
		return name
	}
	b.definitions[name+"."+component] = special
	return name + "." + component
}

// offered returns the names of all versions as properties with the same value and a description.
func (b *builder) offered(
	value string, schema any, component string, names func(string, kubeflags.Minor) []string, describe func(string) string,
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
