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

// Definition is the CustomResourceDefinition of ResourceExploringWebhookConfiguration, in YAML. It defaults as Default does, and refuses what Validate
// refuses but one thing: a caBundle in which there are no certificates.
func Definition() []byte { return slices.Clone(definition) }
