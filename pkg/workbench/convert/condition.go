// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// separate finds a condition that holds for all of some objects and for none of others, and what is to be said about it.
func separate(owner *target.Target, in, out []*subject) (when, note string, ok bool) {
	is, isNot := names(in, out)
	seen := "seen in " + is + ", not in " + isNot
	if when, ok := separateVersions(owner, in, out); ok {
		return "${ " + when + " }", seen, true
	}
	seen += "; the condition is a guess"
	features := featuresOf(owner, slices.Concat(in, out))
	for i, f := range features {
		if f.separates(in, out) {
			return "${ " + f.text + " }", seen, true
		}
		for _, g := range features[:i] {
			if both := f.and(g); both.separates(in, out) {
				return "${ " + both.text + " }", seen, true
			}
		}
	}
	return "", "", false
}

// versionVariable is where an expression finds the version of Kubernetes.
func versionVariable(owner *target.Target) string {
	switch {
	case owner.Garden:
		return "garden.kubernetes"
	case owner.Purposed:
		return "pool.kubernetes"
	}
	return "shoot.kubernetes"
}

// separateVersions finds an interval of versions that has all of some objects and none of the others.
func separateVersions(owner *target.Target, in, out []*subject) (string, bool) {
	ours, ok := versionsOf(in)
	theirs, known := versionsOf(out)
	if !ok || !known {
		return "", false
	}
	for _, of := range []func(*semver.Version) string{minorText, (*semver.Version).String} {
		if constraint, ok := interval(ours, theirs, of); ok {
			return fmt.Sprintf("%s.satisfies(%q)", versionVariable(owner), constraint), true
		}
	}
	return "", false
}

func minorText(v *semver.Version) string { return fmt.Sprintf("%d.%d", v.Major(), v.Minor()) }

// versionsOf are the versions of some objects, sorted; false where one is not known.
func versionsOf(subjects []*subject) ([]*semver.Version, bool) {
	var versions []*semver.Version
	for _, s := range subjects {
		version, err := semver.StrictNewVersion(s.version)
		if err != nil {
			return nil, false
		}
		versions = append(versions, version)
	}
	slices.SortFunc(versions, (*semver.Version).Compare)
	return versions, len(versions) > 0
}

// interval is the constraint that holds for our versions, as far as the text of a version tells them apart, and for none of theirs.
func interval(ours, theirs []*semver.Version, of func(*semver.Version) string) (string, bool) {
	plain := func(v *semver.Version) *semver.Version {
		parsed, err := semver.NewVersion(of(v))
		if err != nil {
			return v
		}
		return parsed
	}
	first, last := plain(ours[0]), plain(ours[len(ours)-1])
	var below, above *semver.Version
	for _, v := range theirs {
		switch is := plain(v); {
		case is.LessThan(first):
			below = is
		case is.GreaterThan(last):
			if above == nil || is.LessThan(above) {
				above = is
			}
		default:
			return "", false
		}
	}
	var parts []string
	if below != nil {
		parts = append(parts, ">= "+of(first))
	}
	if above != nil {
		parts = append(parts, "< "+of(above))
	}
	return strings.Join(parts, ", "), true
}

// feature is something that is known of objects and that a condition can ask for.
type feature struct {
	text  string
	holds func(*subject) bool
}

func (f feature) separates(in, out []*subject) bool {
	return !slices.ContainsFunc(in, func(s *subject) bool { return !f.holds(s) }) && !slices.ContainsFunc(out, f.holds)
}

func (f feature) and(other feature) feature {
	return feature{other.text + " && " + f.text, func(s *subject) bool { return other.holds(s) && f.holds(s) }}
}

// featuresOf are what a condition can ask of the objects, the likeliest first, each with its contrary.
func featuresOf(owner *target.Target, subjects []*subject) []feature {
	var all []feature
	add := func(text string, holds func(*subject) bool) {
		contrary := "!" + text
		if strings.ContainsAny(text, " ") {
			contrary = "!(" + text + ")"
		}
		all = append(all, feature{text, holds}, feature{contrary, func(s *subject) bool { return !holds(s) }})
	}
	for _, version := range thresholds(subjects) {
		parsed := semver.MustParse(version)
		all = append(all, feature{fmt.Sprintf("%s.satisfies(%q)", versionVariable(owner), "< "+version), func(s *subject) bool {
			is, err := semver.StrictNewVersion(s.version)
			return err == nil && is.LessThan(parsed)
		}})
	}
	if shoots(subjects) {
		annotationFeatures(subjects, add)
		shootFeatures(subjects, add)
	}
	for _, kind := range distinct(subjects, func(s *subject) string { return s.object.Kind }) {
		add(fmt.Sprintf("object.kind == %q", kind), func(s *subject) bool { return s.object.Kind == kind })
	}
	if owner.Purposed {
		for _, pool := range distinct(subjects, func(s *subject) string { return s.pool }) {
			add(fmt.Sprintf("pool.name == %q", pool), func(s *subject) bool { return s.pool == pool })
		}
	}
	return all
}

// shoots says whether the Shoot of all objects is known, and not made up.
func shoots(subjects []*subject) bool {
	return !slices.ContainsFunc(subjects, func(s *subject) bool { return s.guessed || s.known == nil || s.known.Shoot == nil })
}

func annotationFeatures(subjects []*subject, add func(string, func(*subject) bool)) {
	values := map[string]bool{}
	for _, s := range subjects {
		for key, value := range s.known.Shoot.Annotations {
			values[key+"\x00"+value] = true
		}
	}
	for _, both := range slices.Sorted(maps.Keys(values)) {
		key, value, _ := strings.Cut(both, "\x00")
		add(fmt.Sprintf("shoot.annotations[?%s].orValue(\"\") == %s", strconv.Quote(key), strconv.Quote(value)),
			func(s *subject) bool { return s.known.Shoot.Annotations[key] == value })
	}
}

func shootFeatures(subjects []*subject, add func(string, func(*subject) bool)) {
	add("shoot.hibernated", func(s *subject) bool { return s.known.Shoot.Hibernated })
	add("shoot.workerless", func(s *subject) bool { return s.known.Shoot.Workerless })
	add(`"IPv6" in shoot.networking.ipFamilies`, func(s *subject) bool { return slices.Contains(s.known.Shoot.Networking.IPFamilies, "IPv6") })
	for _, text := range []struct {
		variable string
		of       func(*subject) string
	}{
		{"shoot.highAvailability", func(s *subject) string { return s.known.Shoot.HighAvailability }},
		{"shoot.purpose", func(s *subject) string { return s.known.Shoot.Purpose }},
		{"shoot.region", func(s *subject) string { return s.known.Shoot.Region }},
		{"shoot.cloudProfile", func(s *subject) string { return s.known.Shoot.CloudProfile }},
	} {
		for _, value := range distinct(subjects, text.of) {
			add(fmt.Sprintf("%s == %q", text.variable, value), func(s *subject) bool { return text.of(s) == value })
		}
	}
}

// thresholds are the minor versions of objects but the oldest.
func thresholds(subjects []*subject) []string {
	versions, ok := versionsOf(subjects)
	if !ok {
		return nil
	}
	var minors []string
	for _, v := range versions {
		if minor := minorText(v); minor != minorText(versions[0]) && !slices.Contains(minors, minor) {
			minors = append(minors, minor)
		}
	}
	return minors
}

// distinct are the different texts that objects have, where there are several.
func distinct(subjects []*subject, of func(*subject) string) []string {
	seen := map[string]bool{}
	for _, s := range subjects {
		seen[of(s)] = true
	}
	if len(seen) < 2 {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(seen)), func(text string) bool { return text == "" })
}

// join writes a, b and c.
func join(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}
