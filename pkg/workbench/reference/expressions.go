// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// Objects are the object types of all variables and those in them, each once, in the order in which they occur.
func Objects() []*expression.Object {
	var objects []*expression.Object
	for _, variable := range facts.Variables() {
		if variable.Object != nil {
			objects = appendObjects(objects, variable.Object)
		}
	}
	return objects
}

func appendObjects(objects []*expression.Object, o *expression.Object) []*expression.Object {
	if slices.Contains(objects, o) {
		return objects
	}
	objects = append(objects, o)
	for _, nested := range o.Nested() {
		objects = appendObjects(objects, nested)
	}
	return objects
}

// Declared says what there is in expressions beside the facts, by name: what the profile itself declares.
var Declared = []struct{ Name, Summary string }{
	{"parameters", "the parameters of the profile, as it or the installation gives them"},
	{"variables", "the variables of the profile, computed when they are first needed"},
	{"lookups", "what the lookups of the profile have read"},
	{"images", "the references of the images in the profile's image vector, by name"},
	{"item", "the item, in rules with forEach; of a mapping it has a key and a value"},
}
