// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"slices"
	"sync"
)

//go:generate sh -c "cd ../../.. && go run ./hack/reference"

// All lists the operations. To add one: a file that defines it, and a line here.
func All() []Definition {
	return []Definition{
		flags(),
		featureGates(),
		listFlags(),
		mapFlags(),
		admissionPlugins(),
		env(),
		volumes(),
		containers(),
		initContainers(),
		labels(),
		annotations(),
		podLabels(),
		podAnnotations(),
		storage(),
		service(),
		containerPolicies(),
		configuration(),
		unit(),
		file(),
		sysctl(),
		providerConfig(),
		fields(),
		embeddedDocument(),
		machineControllerManagerProvider(),
	}
}

// Lookup finds an operation by its name.
func Lookup(name string) (Definition, bool) {
	definition, ok := registered()[name]
	return definition, ok
}

// registered are the operations by name, made once: their shapes are read from Kubernetes' types.
var registered = sync.OnceValue(func() map[string]Definition {
	all := map[string]Definition{}
	for _, definition := range All() {
		all[definition.Name] = definition
	}
	return all
})

// Names returns the names of all operations in the order of the registry.
func Names() []string { return slices.Clone(registeredNames()) }

var registeredNames = sync.OnceValue(func() []string {
	var all []string
	for _, definition := range All() {
		all = append(all, definition.Name)
	}
	return all
})
