// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"

// podLabels sets and removes labels of the pod template.
func podLabels() Definition {
	return keyed{PodLabel, podLabelsPath, target.PodTemplate, podMetadata}.define("podLabels", "the pod template",
		"podLabels: {remove: [networking.gardener.cloud/to-public-networks]}",
		"podLabels: {set: {zone: \"${ shoot.region }\"}}")
}
