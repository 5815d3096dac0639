// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	_ "embed"
	"slices"
)

//go:embed definition.yaml
var definition []byte

// Definition returns the CustomResourceDefinition of ResourceExploringWebhookConfiguration in YAML. It sets the
// same defaults as Default and rejects what Validate rejects, except a caBundle without certificates.
func Definition() []byte { return slices.Clone(definition) }
