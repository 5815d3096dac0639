// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// reviewResponse is that of an ExploreReview. It has no field for what went wrong.
type reviewResponse struct {
	UID string `json:"uid"`
	*answer
	// Requirements have two of the fields only, and a review of replicas must have them.
	Requirements *reviewRequirements `json:"replicaRequirements,omitempty"`
}

type reviewRequirements struct {
	NodeClaim       json.RawMessage `json:"nodeClaim,omitempty"`
	ResourceRequest json.RawMessage `json:"resourceRequest,omitempty"`
}

func reviewSuccess(uid string, a *answer) (any, error) {
	response := reviewResponse{UID: uid, answer: a}
	if a.operation == interpreter.Replicas {
		response.Requirements = &reviewRequirements{}
		if r := a.Requirements; r != nil {
			*response.Requirements = reviewRequirements{r.NodeClaim, r.ResourceRequest}
		}
	}
	if a.Dependencies != nil {
		for _, d := range *a.Dependencies {
			if d.Name == "" {
				return nil, unfit("a dependency on %.80s is known by its labels only, and an %s can name objects only", d.Kind, KindReview)
			}
		}
		a.Dependencies = byName(*a.Dependencies)
	}
	return message{Group + "/" + Version, KindReview, response}, nil
}

// byName are dependencies without the labels, for which the dialect has no field.
func byName(all []interpreter.Dependency) *[]interpreter.Dependency {
	named := make([]interpreter.Dependency, len(all))
	for i, d := range all {
		d.LabelSelector = nil
		named[i] = d
	}
	return &named
}
