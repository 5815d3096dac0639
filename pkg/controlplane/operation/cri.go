// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// cri sets and removes fields of the container runtime's configuration; mappings are merged.
func cri() Definition {
	return Definition{
		Name:      "cri",
		Summary:   "sets and removes fields of the container runtime's configuration; mappings are merged",
		Example:   "cri: {set: {cgroupDriver: systemd}}",
		Examples:  []string{"cri: {remove: [containerd]}"},
		Arguments: setAndRemove("fields", mappingOf(anyTree)),
		Parts:     target.NodeSpec,
		Compile: func(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
			return compileSpecField(c, arguments, path, CRIField, "criConfig")
		},
	}
}
