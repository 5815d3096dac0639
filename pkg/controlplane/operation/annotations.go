// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// annotations sets and removes annotations of the object itself.
func annotations() Definition {
	return Definition{
		Name:      "annotations",
		Summary:   "sets and removes annotations of the object itself",
		Example:   `annotations: {set: {loadbalancer.openstack.org/keep-floatingip: "true"}}`,
		Examples:  []string{"annotations: {remove: [old]}"},
		Arguments: setAndRemove("annotations", mappingOf(anyText)),
		Parts:     target.Metadata,
		Compile: func(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
			return compileKeyed(c, arguments, path, Annotation, annotationsPath, objectMetadata)
		},
	}
}
