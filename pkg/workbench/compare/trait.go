// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

// trait is something by which shoots differ, and of which rules may make a difference.
type trait struct {
	// name is that of the trait in documents.
	name string
	// of is the value of a shoot.
	of func(f *facts.Facts) string
	// say says that it is so for shoots with these values and for no others of all.
	say func(values, all []string) string
}

// traits are all of them, those that are tried first in front.
var traits = []trait{
	{"kubernetes", func(f *facts.Facts) string { return scene.Minor(f.Kubernetes()) }, sayVersions},
	flag("highAvailability", func(s *facts.Shoot) bool { return s.HighAvailability != "" }, "with high availability", "without high availability"),
	flag("ipv6", func(s *facts.Shoot) bool { return slices.Contains(s.Networking.IPFamilies, "IPv6") }, "with IPv6", "without IPv6"),
	flag("hibernated", func(s *facts.Shoot) bool { return s.Hibernated }, "when hibernated", "when not hibernated"),
	flag("workerless", func(s *facts.Shoot) bool { return s.Workerless }, "without workers", "with workers"),
	{"provider", label(target.ControlPlane), list("for the provider ", "for the providers ")},
	{"seedProvider", label(target.Exposure), list("on seeds of the provider ", "on seeds of the providers ")},
	{"backupProvider", label(target.Backup), list("with backups at the provider ", "with backups at the providers ")},
	{"garden", func(f *facts.Facts) string { return fmt.Sprint(f.Garden != nil) }, yes("for virtual gardens", "for shoots")},
	text("region", func(s *facts.Shoot) string { return s.Region }, list("in the region ", "in the regions ")),
	text("cloudProfile", func(s *facts.Shoot) string { return s.CloudProfile }, list("with the cloud profile ", "with the cloud profiles ")),
	text("networking", func(s *facts.Shoot) string { return s.Networking.Type }, list("with the network ", "with the networks ")),
	text("purpose", func(s *facts.Shoot) string { return s.Purpose }, list("with the purpose ", "with the purposes ")),
	{"version", (*facts.Facts).Kubernetes, sayVersions},
}

// TraitsOf are the traits of a scene by name; what is not known of it is left out.
func TraitsOf(s *scene.Scene) map[string]string {
	found := map[string]string{}
	for _, t := range traits {
		if value := t.of(s.Facts); value != "" {
			found[t.name] = value
		}
	}
	return found
}

func text(name string, of func(*facts.Shoot) string, say func(values, all []string) string) trait {
	return trait{name, func(f *facts.Facts) string {
		if f.Shoot == nil {
			return ""
		}
		return of(f.Shoot)
	}, say}
}

func flag(name string, of func(*facts.Shoot) bool, with, without string) trait {
	return text(name, func(s *facts.Shoot) string { return fmt.Sprint(of(s)) }, yes(with, without))
}

func yes(with, without string) func(values, all []string) string {
	return func(values, _ []string) string {
		if slices.Contains(values, "true") {
			return with
		}
		return without
	}
}

func label(set target.Set) func(*facts.Facts) string {
	return func(f *facts.Facts) string { return f.Namespace.Labels[set.NamespaceLabel()] }
}

func list(one, many string) func(values, all []string) string {
	return func(values, _ []string) string {
		if len(values) == 1 {
			return one + cmp.Or(values[0], "none")
		}
		return many + and(values)
	}
}

// sayVersions says a range where the versions are one that is open to a side.
func sayVersions(values, all []string) string {
	older := func(a, b string) int {
		left, err := semver.NewVersion(a)
		right, other := semver.NewVersion(b)
		if err != nil || other != nil {
			return strings.Compare(a, b)
		}
		return left.Compare(right)
	}
	slices.SortFunc(values, older)
	slices.SortFunc(all, older)
	switch {
	case len(values) == 1:
		return "for Kubernetes " + values[0]
	case slices.Equal(values, all[:len(values)]):
		return "up to Kubernetes " + values[len(values)-1]
	case slices.Equal(values, all[len(all)-len(values):]):
		return "from Kubernetes " + values[0] + " on"
	default:
		return "for Kubernetes " + and(values)
	}
}

// and writes a list as people do.
func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// separate says in words what sets some shoots, by their places in the list, apart from all others among those that are given: the
// values of one trait, or of two. It is empty where they are all, or where nothing sets them apart exactly.
func separate(known []map[string]string, some, among []int) string {
	if len(some) == len(among) {
		return ""
	}
	for i := range traits {
		if exact(known, some, among, traits[i]) {
			return phrase(known, some, among, traits[i])
		}
	}
	for i := range traits {
		for j := range traits[:i] {
			if exact(known, some, among, traits[j], traits[i]) {
				return phrase(known, some, among, traits[j]) + " and " + phrase(known, some, among, traits[i])
			}
		}
	}
	return ""
}

// exact says whether the values that some have in these traits are had by no other.
func exact(known []map[string]string, some, among []int, by ...trait) bool {
	for _, i := range among {
		if slices.Contains(some, i) {
			continue
		}
		if !slices.ContainsFunc(by, func(t trait) bool { return !slices.Contains(valuesOf(known, some, t), known[i][t.name]) }) {
			return false
		}
	}
	return true
}

func phrase(known []map[string]string, some, among []int, t trait) string {
	return t.say(valuesOf(known, some, t), valuesOf(known, among, t))
}

// valuesOf are the values that some have, sorted, each once.
func valuesOf(known []map[string]string, some []int, t trait) []string {
	var values []string
	for _, i := range some {
		values = append(values, known[i][t.name])
	}
	slices.Sort(values)
	return slices.Compact(values)
}
