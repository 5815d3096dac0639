// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// providerConfig sets and removes fields of the operating system's own configuration, spec.providerConfig; mappings are merged.
func providerConfig() Definition {
	return Definition{
		Name:      "providerConfig",
		Summary:   "sets and removes fields of the operating system's own configuration, spec.providerConfig; mappings are merged",
		Example:   "providerConfig: {set: {networkIsolation: {allowedNetworks: [10.0.0.0/8]}}}",
		Examples:  []string{"providerConfig: {remove: [networkIsolation]}"},
		Arguments: setAndRemove("fields", mappingOf(anyTree)),
		Parts:     target.NodeSpec,
		Compile: func(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
			return compileSpecField(c, arguments, path, ProviderConfigField, "providerConfig")
		},
	}
}
