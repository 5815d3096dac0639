// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// labels sets and removes labels of the object itself.
func labels() Definition {
	return Definition{
		Name:      "labels",
		Summary:   "sets and removes labels of the object itself",
		Example:   "labels: {set: {cloud.example.com/zone: a}, remove: [old]}",
		Arguments: setAndRemove("labels", mappingOf(anyText)),
		Parts:     target.Metadata,
		Compile: func(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
			return compileKeyed(c, arguments, path, Label, labelsPath, objectMetadata)
		},
	}
}
