// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// providerConfig defines the operation for the operating system's own configuration, spec.providerConfig.
func providerConfig() Definition {
	return Definition{
		Name:      "providerConfig",
		Summary:   "sets and removes fields of the operating system's configuration in spec.providerConfig; merges mappings",
		Example:   "providerConfig: {set: {networkIsolation: {allowedNetworks: [10.0.0.0/8]}}}",
		Examples:  []string{"providerConfig: {remove: [networkIsolation]}"},
		Arguments: setAndRemove("fields", mappingOf(anyTree)),
		Parts:     target.NodeSpec,
		Compile:   compileProviderConfig,
	}
}

func compileProviderConfig(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	return compiler{
		place: Place{Kind: ProviderConfigField},
		value: c.Tree,
		apply: setProviderConfigField,
	}.compileEdits(arguments, path)
}

func setProviderConfigField(o *target.Object, name string, v Resolved) error {
	spec := o.Document.Root().Get("spec")
	if v.Absent {
		spec.Get("providerConfig").Remove(name)
		return nil
	}
	parent, err := spec.Ensure("providerConfig", document.Object)
	if err != nil {
		return nested(err, "spec.providerConfig")
	}
	return mergeMember(parent, name, v.JSON)
}
