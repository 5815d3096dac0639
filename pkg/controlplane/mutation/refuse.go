// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// refuse finds what the contract forbids a rule to write. What a clause merely reserves is allowed to a rule that gives a
// reason.
func refuse(t *target.Target, r *rule, g contract.Generation) source.Findings {
	var findings source.Findings
	for _, write := range r.writes {
		if clause, ok := forbidden(t, write, g); ok {
			findings = append(findings, write.At.Finding(write.Path, "%s must not be written: %s", write.Place, clause).Of(Forbidden))
			continue
		}
		if clause, ok := reserved(t, write, r.writes); ok && !r.override {
			findings = append(findings, write.At.Finding(write.Path, "%s is reserved: %s; a rule that must write it all the same says why in `override`",
				write.Place, clause).Of(Reserved))
		}
	}
	return findings
}

// needless says that a rule gives a reason and needs none, so that reasons do not outlive their cause. Of computed names
// nobody knows before.
func needless(t *target.Target, r *rule) bool {
	if r.family != nil && len(r.family.names) > 0 {
		return false
	}
	return !slices.ContainsFunc(r.writes, func(write operation.Write) bool {
		_, ok := reserved(t, write, r.writes)
		return ok
	})
}

// forbidden finds the clause that no reason overrides.
func forbidden(t *target.Target, write operation.Write, g contract.Generation) (contract.Clause, bool) {
	switch write.Place.Kind {
	case operation.Flag, operation.ListFlagItem, operation.MapFlagEntry:
		if write.Place.Container == t.Container {
			return contract.LockedFlag(t, flagOf(write.Place), g)
		}
	case operation.Label, operation.PodLabel:
		return contract.ReservedLabel(write.Place.Name)
	case operation.Annotation, operation.PodAnnotation:
		return contract.ReservedAnnotation(write.Place.Name)
	case operation.Container:
		return contract.OwnContainer(t, write.Place.Name, write.Value.Keys())
	case operation.Field, operation.TestedField:
		return contract.ReservedField(write.Place.Name)
	case operation.DocumentField:
		return contract.ReservedField(write.Place.Container)
	}
	return contract.Clause{}, false
}

// reserved finds the clause that a reason overrides.
func reserved(t *target.Target, write operation.Write, writes []operation.Write) (contract.Clause, bool) {
	own := t.Container != "" && write.Place.Container == t.Container
	switch write.Place.Kind {
	case operation.Flag, operation.ListFlagItem, operation.MapFlagEntry, operation.FeatureGate:
		if own {
			return contract.ReservedFlag(t, flagOf(write.Place))
		}
	case operation.Field, operation.TestedField:
		return contract.ReservedPart(t, write.Place.Name)
	case operation.Env:
		if own {
			return contract.SenselessInput(t)
		}
	case operation.VolumeMount:
		if own && mountsSecret(write.Place.Name, writes) {
			return contract.SenselessInput(t)
		}
	case operation.Volume:
		if value, ok := write.Value.Constant(); ok && value.Absent {
			return contract.SenselessInput(t)
		}
	case operation.Container:
		if write.Place.Name == t.Container && bringsInput(write.Value.Keys()) {
			return contract.SenselessInput(t)
		}
	}
	return contract.Clause{}, false
}

// bringsInput says whether the fields of a container include environment or mounts.
func bringsInput(fields []string) bool {
	return slices.ContainsFunc([]string{"env", "envFrom", "volumeMounts"}, func(field string) bool { return slices.Contains(fields, field) })
}

// mountsSecret says whether a rule's mount is of a Secret or ConfigMap; it is taken for one where the rule does not say.
func mountsSecret(volume string, writes []operation.Write) bool {
	for _, write := range writes {
		if write.Place.Kind == operation.Volume && write.Place.Name == volume {
			keys := write.Value.Keys()
			return slices.Contains(keys, "secret") || slices.Contains(keys, "configMap") || slices.Contains(keys, "projected") || slices.Contains(keys, "csi")
		}
	}
	return true
}

// flagOf is the flag of which a place is the whole value or an entry; empty for places that are no part of a flag.
func flagOf(p operation.Place) string {
	switch p.Kind {
	case operation.Flag:
		return p.Name
	case operation.FeatureGate:
		return "feature-gates"
	case operation.ListFlagItem, operation.MapFlagEntry:
		flag, _, _ := strings.Cut(p.Name, ":")
		return flag
	default:
		return ""
	}
}
