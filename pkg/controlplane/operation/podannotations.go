// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"

// podAnnotations sets and removes annotations of the pod template.
func podAnnotations() Definition {
	return keyed{PodAnnotation, podAnnotationsPath, target.PodTemplate, podMetadata}.define("podAnnotations", "the pod template",
		"podAnnotations: {remove: [checksum/secret-cloudprovider]}",
		"podAnnotations: {set: {zone: \"${ shoot.region }\"}}")
}
