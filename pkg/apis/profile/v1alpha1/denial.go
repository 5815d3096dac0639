// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// DenyField is the field of a profile with its denials.
const DenyField = "deny"

// Denial denies requests for objects of its targets if its condition is true.
type Denial struct {
	// Name is the name of the rule in messages and metrics.
	Name source.Text `json:"name"`
	// When is the condition, a boolean ${ CEL } expression.
	When source.Text `json:"when"`
	// Message is the instruction for the owner of the shoot; it may contain ${ CEL } without Secrets.
	Message source.Text `json:"message"`
	// Targets names the targets; by default all targets with rules of the profile.
	Targets []source.Text `json:"targets,omitempty"`
}

// JSONSchema returns the schema of a denial in addition to its fields.
func (Denial) JSONSchema() string {
	return `{"allOf": [{"properties": {"targets": {"minItems": 1, "uniqueItems": true}, "when": ` + conditionSchema + `}}]}`
}
