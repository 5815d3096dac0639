// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// containers adds, changes and removes containers of the pod template, such as sidecars.
func containers() Definition {
	return Definition{
		Name:      "containers",
		Summary:   "adds containers, sets fields of existing ones, and removes containers",
		Example:   "containers: {set: {backup-restore: {image: registry.example.com/etcdbrctl:v0.30.0, args: [server]}}}",
		Examples:  []string{"containers: {remove: [backup-restore]}"},
		Arguments: setAndRemove("containers", mappingOf(shapeLike[corev1.Container]("name"))),
		Parts:     target.PodTemplate,
		Compile:   containersIn("containers", Container).compile,
	}
}

// containersIn describes the containers in a list of the pod template.
func containersIn(list string, kind Kind) namedObjects {
	return namedObjects{kind: kind, key: "name", shape: shapeOf[corev1.Container], checks: containerChecks, name: checkLabel,
		apply: func(o *target.Object, name string, v Resolved) error { return setContainer(o, list, name, v) }}
}

func setContainer(o *target.Object, list, name string, v Resolved) error {
	spec := o.PodSpec()
	if spec == nil {
		return nested(errNoPodTemplate, "spec.template.spec")
	}
	defer o.ForgetCommandLines()
	if v.Absent {
		removeNamed(spec, list, "name", name)
		return nil
	}
	return mergeNamed(spec, list, "name", name, withMember(v.JSON, "name", name))
}
