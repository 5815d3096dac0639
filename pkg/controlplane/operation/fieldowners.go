// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// owner is a field of which another operation knows more: it merges by entry, keeps what must be kept, and the contract's
// clauses know its places.
type owner struct {
	path      string
	parts     target.Part
	operation string
	// parted says that the operation cannot remove a part of an entry, which fields may therefore do.
	parted bool
}

// owners are in the order in which they are looked at. The items of lists are left out of the paths.
var owners = slices.Concat([]owner{
	{"metadata.labels", target.Metadata, "labels", false},
	{"metadata.annotations", target.Metadata, "annotations", false},
	{"spec.template.metadata.labels", target.PodTemplate, "podLabels", false},
	{"spec.template.metadata.annotations", target.PodTemplate, "podAnnotations", false},
	{"spec.template.spec.volumes", target.PodTemplate, "volumes", false},
	{"spec.template.spec.containers.command", target.PodTemplate, "flags", false},
	{"spec.template.spec.containers.args", target.PodTemplate, "flags", false},
	{"spec.template.spec.containers.env", target.PodTemplate, "env", false},
	{"spec.template.spec.containers.volumeMounts", target.PodTemplate, "volumes", false},
	{"spec.template.spec.containers", target.PodTemplate, "containers", true},
	{"spec.template.spec.initContainers", target.PodTemplate, "initContainers", true},
	{"spec.volumeClaimTemplates", target.Storage, "storage", false},
	{"spec.storageClass", target.Storage, "storage", false},
	{"spec.storageCapacity", target.Storage, "storage", false},
	{"spec.resourcePolicy.containerPolicies", target.ContainerPolicies, "containerPolicies", true},
	{"spec.units", target.Units, "unit", false},
	{"spec.files", target.Files, "file", false},
	{"spec.criConfig", target.NodeSpec, "cri", true},
	{"spec.providerConfig", target.NodeSpec, "providerConfig", true},
}, serviceOwners())

func serviceOwners() []owner {
	var all []owner
	for _, field := range serviceFields {
		all = append(all, owner{"spec." + field, target.ServiceSpec, "service", false})
	}
	return all
}

// checkOwner says which operation is to be used instead; empty when there is none.
func checkOwner(t *target.Target, p fieldPath, removed bool) string {
	keys := strings.Join(p.keys(), ".")
	for _, o := range owners {
		below := inside(keys, o.path)
		if t.Has(o.parts) && (below && (!o.parted || !removed) || keys == o.path) {
			return o.message()
		}
		if below && t.Has(o.parts) {
			return ""
		}
	}
	for _, o := range owners {
		if t.Has(o.parts) && inside(o.path, keys) {
			return o.message()
		}
	}
	return ""
}

func (o owner) message() string {
	return fmt.Sprintf("%s is edited with the operation %s", o.path, o.operation)
}

// inside says whether a path leads on from another one.
func inside(path, outer string) bool { return strings.HasPrefix(path, outer+".") }
