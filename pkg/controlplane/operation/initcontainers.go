// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// initContainers adds, changes and removes init containers of the pod template.
func initContainers() Definition {
	return Definition{
		Name:      "initContainers",
		Summary:   "adds init containers, sets fields of existing ones, and removes init containers",
		Example:   "initContainers: {set: {wait: {image: registry.example.com/wait:v1, command: [/wait]}}}",
		Examples:  []string{"initContainers: {remove: [wait]}"},
		Arguments: setAndRemove("init containers", mappingOf(shapeLike[corev1.Container]("name"))),
		Parts:     target.PodTemplate,
		Compile:   containersIn("initContainers", InitContainer).compile,
	}
}
