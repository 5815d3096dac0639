// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"

// reviewSuccess answers in a dialect that has no field for what went wrong, and two of those for requirements, which a review of replicas must have.
func reviewSuccess(out []byte, uid string, a *answer) ([]byte, error) {
	said := *a
	if a.operation == interpreter.Replicas {
		said.requirements = &interpreter.Requirements{}
		if r := a.requirements; r != nil {
			*said.requirements = interpreter.Requirements{NodeClaim: r.NodeClaim, ResourceRequest: r.ResourceRequest}
		}
	}
	for _, d := range a.dependencies {
		if d.Name == "" {
			return nil, unfit("a dependency on %.80s is known by its labels only, and an %s can name objects only", d.Kind, KindReview)
		}
	}
	said.dependencies = byName(a.dependencies)
	o := beginMessage(out, KindReview, uid)
	said.writeTo(&o, "status")
	return o.endMessage(), nil
}

// byName are dependencies without the labels, for which the dialect has no field.
func byName(all []interpreter.Dependency) []interpreter.Dependency {
	named := make([]interpreter.Dependency, len(all))
	for i, d := range all {
		d.LabelSelector = nil
		named[i] = d
	}
	return named
}
