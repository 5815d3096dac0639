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

const (
	// Forbidden means that the contract forbids a write.
	Forbidden source.LintRule = "contract-forbidden"
	// Reserved means that the contract reserves a write for Gardener.
	Reserved source.LintRule = "contract-reserved"
	// CannotKeep means that a place cannot keep the value of the old object.
	CannotKeep source.LintRule = "cannot-keep"
)

// CheckContract reports writes that the contract forbids, at their names below the node of the rule, or else at their
// values. A rule that gives a reason may write reserved places.
func CheckContract(t *target.Target, r *Rule, g contract.Generation, node source.Node) source.Findings {
	var findings source.Findings
	refuse := func(write operation.Write, rule source.LintRule, format string, clause contract.Clause) {
		at := write.At
		if name := node.Naming(write.At, write.Place.Name); name.Node != nil {
			at = name
		}
		findings = append(findings, at.Finding(write.Path, format, write.Place, clause).Of(rule))
	}
	for _, write := range r.Writes {
		if clause, ok := forbidden(t, write, g); ok {
			refuse(write, Forbidden, "%s must not be written: %s", clause)
		} else if clause, ok := reserved(t, write, r.Writes); ok && !r.Override {
			refuse(write, Reserved, "%s is reserved: %s; to override it, give the reason in `override`", clause)
		}
	}
	return findings
}

// GivesUnusedReason reports whether a rule gives a reason without need, so that obsolete reasons are found. It returns false for
// computed names, which are unknown at this point.
func GivesUnusedReason(t *target.Target, r *Rule) bool {
	if r.ForEach != nil && len(r.ForEach.Names) > 0 {
		return false
	}
	return !slices.ContainsFunc(r.Writes, func(write operation.Write) bool {
		_, ok := reserved(t, write, r.Writes)
		return ok || definesKubelet(write.Place)
	})
}

// definesKubelet reports whether a place, other than a flag, determines the kubelet command that systemd runs.
func definesKubelet(p operation.Place) bool {
	switch p.Kind {
	case operation.File:
		return contract.DefinesKubelet(p.Name)
	case operation.Unit:
		return p.Name == target.KubeletUnit
	case operation.UnitField, operation.UnitOption, operation.DropIn:
		return p.Container == target.KubeletUnit
	default:
		return false
	}
}

// forbidden returns the clause that forbids a write for any rule.
func forbidden(t *target.Target, write operation.Write, g contract.Generation) (contract.Clause, bool) {
	switch write.Place.Kind {
	case operation.Flag, operation.MapFlagEntry:
		if write.Place.Container == t.Container {
			return contract.LockedFlag(t, FlagOf(write.Place), g)
		}
	case operation.Label, operation.PodLabel:
		return contract.ReservedLabel(write.Place.Name)
	case operation.Annotation, operation.PodAnnotation:
		return contract.ReservedAnnotation(write.Place.Name)
	case operation.Container:
		return contract.OwnContainer(t, write.Place.Name, write.Value.Keys())
	case operation.Field:
		return contract.ReservedField(write.Place.Name)
	case operation.DocumentField:
		return contract.ReservedField(write.Place.Container)
	}
	return contract.Clause{}, false
}

// reserved returns the clause that forbids a write for rules without a reason.
func reserved(t *target.Target, write operation.Write, writes []operation.Write) (contract.Clause, bool) {
	own := t.Container != "" && write.Place.Container == t.Container
	switch write.Place.Kind {
	case operation.Flag, operation.MapFlagEntry, operation.FeatureGate:
		if own {
			return contract.ReservedFlag(t, FlagOf(write.Place))
		}
	case operation.Field:
		return contract.ReservedPart(t, write.Place.Name)
	case operation.Env:
		if own {
			return contract.ForbiddenInput(t)
		}
	case operation.VolumeMount:
		if own && mountsSecret(write.Place.Name, writes) {
			return contract.ForbiddenInput(t)
		}
	case operation.Volume:
		if value, ok := write.Value.Constant(); ok && value.Absent {
			return contract.ForbiddenInput(t)
		}
	case operation.Container:
		if write.Place.Name == t.Container && addsInput(write.Value.Keys()) {
			return contract.ForbiddenInput(t)
		}
	}
	return contract.Clause{}, false
}

// addsInput reports whether the fields of a container include environment variables or mounts.
func addsInput(fields []string) bool {
	return slices.ContainsFunc([]string{"env", "envFrom", "volumeMounts"}, func(field string) bool { return slices.Contains(fields, field) })
}

// mountsSecret reports whether a rule's mount refers to a Secret or ConfigMap. It returns true if the rule does not
// define the volume.
func mountsSecret(volume string, writes []operation.Write) bool {
	for _, write := range writes {
		if write.Place.Kind == operation.Volume && write.Place.Name == volume {
			keys := write.Value.Keys()
			return slices.Contains(keys, "secret") || slices.Contains(keys, "configMap") || slices.Contains(keys, "projected") || slices.Contains(keys, "csi")
		}
	}
	return true
}

// FlagOf returns the flag that a place contains completely or in part, or an empty string for other places.
func FlagOf(p operation.Place) string {
	switch p.Kind {
	case operation.Flag:
		return p.Name
	case operation.FeatureGate:
		return "feature-gates"
	case operation.MapFlagEntry:
		flag, _, _ := strings.Cut(p.Name, ":")
		return flag
	default:
		return ""
	}
}
