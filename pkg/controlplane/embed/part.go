// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
)

// partName is what one method of an ensurer is handed of an OperatingSystemConfig.
type partName string

const (
	unitOptions   partName = "EnsureKubeletServiceUnitOptions"
	configuration partName = "EnsureKubeletConfiguration"
	settings      partName = "EnsureKubernetesGeneralConfiguration"
	files         partName = "EnsureAdditionalFiles"
	units         partName = "EnsureAdditionalUnits"
	cri           partName = "EnsureCRIConfig"
)

// carriers are the parts that hold the places of each kind; a rule is applied to each of them. A setting of the kernel also stands
// among the files, where it can be added if there is none.
var carriers = map[operation.Kind][]partName{
	operation.Flag: {unitOptions}, operation.ListFlagItem: {unitOptions}, operation.MapFlagEntry: {unitOptions},
	operation.FeatureGate: {unitOptions, configuration}, operation.KubeletField: {configuration},
	operation.KernelSetting: {settings, files}, operation.File: {files}, operation.CRIField: {cri},
	operation.Unit: {units}, operation.UnitField: {units}, operation.DropIn: {units}, operation.UnitOption: {units},
}

// partsOf are the parts to which a rule for nodes is applied; nil when none of them holds all that it writes.
func partsOf(info mutation.RuleInfo) []partName {
	if info.Operation == "unit" && info.Target.Component == "kubelet" && !slices.ContainsFunc(info.Places, func(place operation.Place) bool {
		return place.Kind != operation.UnitOption
	}) {
		return []partName{unitOptions}
	}
	var parts []partName
	for i, place := range info.Places {
		if i == 0 {
			parts = carriers[place.Kind]
		} else if !slices.Equal(parts, carriers[place.Kind]) {
			return nil
		}
	}
	return parts
}

// part are the rules that one method applies.
type part struct {
	program *mutation.Program
	// any says that there are rules; facts, that some of them name the Cluster or a lookup; pool, that some name the version of
	// the pool.
	any, facts, pool bool
}

func (c *compiled) part(name partName) part {
	of := func(info mutation.RuleInfo) bool { return info.Target.Purposed && slices.Contains(partsOf(info), name) }
	p := part{program: c.program.Only(of)}
	for _, info := range c.rules {
		if of(info) {
			p.any = true
			p.facts = p.facts || needsFacts(info) != ""
			p.pool = p.pool || names(info.References, "pool")
		}
	}
	return p
}

// cannotCarry says why no method of an ensurer can carry a rule; empty when one can. With facts, there is a source of them.
func cannotCarry(info mutation.RuleInfo, facts bool) string {
	if !facts {
		for _, name := range []string{"lookups", "namespaceObject", "garden"} {
			if names(info.References, name) {
				return fmt.Sprintf("names %s, which a GardenContext does not have; Options.Facts would", name)
			}
		}
	}
	if !info.Target.Purposed {
		return cannotHold(info)
	}
	parts := partsOf(info)
	switch {
	case len(parts) == 0:
		return fmt.Sprintf("%s writes what no method of an ensurer is handed of an OperatingSystemConfig; a Mutator is", info.Operation)
	case names(info.References, "object"):
		return "names object, and an ensurer is not handed the OperatingSystemConfig; a Mutator is"
	case names(info.References, "images"):
		return "names images, which are chosen for a pool, and an ensurer is not told which it is; a Mutator is"
	case slices.Contains(info.Purposes, "provision") && !slices.Contains(parts, files) && !slices.Contains(parts, units):
		return fmt.Sprintf("%s has nothing to write to in an OperatingSystemConfig of purpose provision: an ensurer is handed its files and units; "+
			"a Mutator is handed all", info.Operation)
	}
	return poolUnknown(info, parts)
}

// poolUnknown says what of a worker pool a rule names that its methods are not told: some are told the version, and none the rest.
func poolUnknown(info mutation.RuleInfo, parts []partName) string {
	told := slices.Contains(parts, unitOptions) || slices.Contains(parts, configuration)
	for _, reference := range info.References {
		root, _, _ := strings.Cut(reference, ".")
		switch {
		case root != "pool":
		case !told:
			return "names pool, and an ensurer of files, units, settings and the container runtime is not told which it is; a Mutator is"
		case reference != "pool.kubernetes" && !strings.HasPrefix(reference, "pool.kubernetes."):
			return fmt.Sprintf("names %s, and an ensurer is told no more of a pool than the version; a Mutator is", reference)
		}
	}
	return ""
}
