// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package target

// Other is a target for objects that the contract does not name. They are of the form's group, version, kind and resource; a
// name that ends in * stands for all that begin so, and no name for all.
func Other(form Form) *Target {
	name := form.Kind
	if form.Name != "" {
		name += "/" + form.Name
	}
	form.Parts = partsOf(form.Group, form.Kind)
	return &Target{Name: name, Summary: "not in the contract and of kind " + form.Kind, Other: true, Forms: []Form{form}}
}

// partsOf are the parts that objects of a kind have, whatever their name.
func partsOf(group, kind string) Part {
	switch group + "/" + kind {
	case "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet":
		return Metadata | PodTemplate | CommandLine
	case "/Service":
		return Metadata | ServiceSpec
	case "autoscaling.k8s.io/VerticalPodAutoscaler":
		return Metadata | ContainerPolicies
	default:
		return Metadata
	}
}
