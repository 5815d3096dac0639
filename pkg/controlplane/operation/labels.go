// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"

// labels sets and removes labels of the object itself.
func labels() Definition {
	return keyed{Label, labelsPath, target.Metadata, objectMetadata}.define("labels", "the object itself",
		"labels: {set: {cloud.example.com/zone: a}, remove: [old]}")
}
