// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"

// annotations sets and removes annotations of the object itself.
func annotations() Definition {
	return keyed{Annotation, annotationsPath, target.Metadata, objectMetadata}.define("annotations", "the object itself",
		`annotations: {set: {loadbalancer.openstack.org/keep-floatingip: "true"}}`,
		"annotations: {remove: [old]}")
}
