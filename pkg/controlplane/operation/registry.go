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
		mapFlags(),
		admissionPlugins(),
		env(),
		volumes(),
		containers(),
		labels(),
		annotations(),
		podLabels(),
		podAnnotations(),
		storage(),
		configuration(),
		unit(),
		file(),
		sysctl(),
		fields(),
		embeddedDocument(),
		machineControllerManagerProvider(),
	}
}

// registered lists the operations, made once: their shapes are read from Kubernetes' types.
var registered = sync.OnceValue(All)

// Lookup finds an operation by its name.
func Lookup(name string) (Definition, bool) {
	i := slices.IndexFunc(registered(), func(d Definition) bool { return d.Name == name })
	if i < 0 {
		return Definition{}, false
	}
	return registered()[i], true
}

// Names returns the names of all operations in the order of the registry.
func Names() []string {
	var all []string
	for _, definition := range registered() {
		all = append(all, definition.Name)
	}
	return all
}
