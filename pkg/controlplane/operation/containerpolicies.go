// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

func setContainerPolicy(o *target.Object, name string, v Resolved) error {
	root := o.Document.Root()
	if v.Absent {
		removeNamed(root.Find("spec", "resourcePolicy"), "containerPolicies", "containerName", name)
		return nil
	}
	spec, err := root.Ensure("spec", document.Object)
	if err != nil {
		return nested(err, "spec")
	}
	policy, err := spec.Ensure("resourcePolicy", document.Object)
	if err != nil {
		return nested(err, "spec.resourcePolicy")
	}
	return mergeNamed(policy, "containerPolicies", "containerName", name, withMember(v.JSON, "containerName", name))
}

// containerPolicies defines the operation for the container policies of a VerticalPodAutoscaler.
func containerPolicies() Definition {
	return Definition{
		Name:      "containerPolicies",
		Summary:   "sets and removes policies of a VerticalPodAutoscaler, by container",
		Example:   "containerPolicies: {set: {machine-controller-manager-provider-openstack: {controlledValues: RequestsOnly}}}",
		Examples:  []string{"containerPolicies: {remove: [side]}"},
		Arguments: setAndRemove("policies", mappingOf(shapeLike[vpaautoscalingv1.ContainerResourcePolicy]("containerName"))),
		Parts:     target.ContainerPolicies,
		Compile: namedObjects{kind: ContainerPolicy, key: "containerName", shape: shapeOf[vpaautoscalingv1.ContainerResourcePolicy],
			checks: policyChecks, apply: setContainerPolicy}.compile,
	}
}
