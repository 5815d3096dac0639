// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// podAnnotations sets and removes annotations of the pod template.
func podAnnotations() Definition {
	return Definition{
		Name:      "podAnnotations",
		Summary:   "sets and removes annotations of the pod template",
		Example:   "podAnnotations: {remove: [checksum/secret-cloudprovider]}",
		Examples:  []string{"podAnnotations: {set: {zone: \"${ shoot.region }\"}}"},
		Arguments: setAndRemove("annotations", mappingOf(anyText)),
		Parts:     target.PodTemplate,
		Compile: func(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
			return compileKeyed(c, arguments, path, PodAnnotation, podAnnotationsPath, podMetadata)
		},
	}
}
