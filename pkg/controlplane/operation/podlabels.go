// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// podLabels sets and removes labels of the pod template.
func podLabels() Definition {
	return Definition{
		Name:      "podLabels",
		Summary:   "sets and removes labels of the pod template",
		Example:   "podLabels: {remove: [networking.gardener.cloud/to-public-networks]}",
		Examples:  []string{"podLabels: {set: {zone: \"${ shoot.region }\"}}"},
		Arguments: setAndRemove("labels", mappingOf(anyText)),
		Parts:     target.PodTemplate,
		Compile: func(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
			return compileKeyed(c, arguments, path, PodLabel, podLabelsPath, podMetadata)
		},
	}
}
