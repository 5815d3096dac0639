// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// DenyField is the field of a profile that holds its denials.
const DenyField = "deny"

// Denial denies objects of the targets for which the profile has rules.
type Denial struct {
	// Name is what messages and metrics call the rule.
	Name source.Text `json:"name"`
	// When is the condition, a boolean ${ CEL } expression.
	When source.Text `json:"when"`
	// Message says what to do about it, to whoever reads why a shoot is not reconciled; it may hold ${ CEL } that reads no Secret.
	Message source.Text `json:"message"`
	// Targets names the targets to which the rule applies; all for which the profile has rules when absent.
	Targets []source.Text `json:"targets,omitempty"`
}

// JSONSchema is what an editor is told about a denial beside its fields.
func (Denial) JSONSchema() string {
	return `{"allOf": [{"properties": {"targets": {"minItems": 1, "uniqueItems": true}, "when": ` + conditionSchema + `}}]}`
}
