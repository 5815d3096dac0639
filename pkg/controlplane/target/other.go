// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"slices"
	"strings"
)

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

// groupKind names a kind of objects.
type groupKind struct{ group, kind string }

// otherParts are the parts beside metadata that objects of a kind have, whatever their name; those of other kinds have none.
var otherParts = map[groupKind]Part{
	{"apps", "Deployment"}:                          PodTemplate | CommandLine,
	{"apps", "StatefulSet"}:                         PodTemplate | CommandLine,
	{"apps", "DaemonSet"}:                           PodTemplate | CommandLine,
	{"", "Service"}:                                 ServiceSpec,
	{"autoscaling.k8s.io", "VerticalPodAutoscaler"}: ContainerPolicies,
}

func partsOf(group, kind string) Part { return Metadata | otherParts[groupKind{group, kind}] }

// Others are targets for all objects of each kind that has parts beside metadata, sorted by kind.
func Others() []*Target {
	var others []*Target
	for known := range otherParts {
		others = append(others, Other(Form{Group: known.group, Kind: known.kind}))
	}
	slices.SortFunc(others, func(a, b *Target) int { return strings.Compare(a.Name, b.Name) })
	return others
}
