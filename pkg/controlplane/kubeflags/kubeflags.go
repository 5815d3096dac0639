// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package kubeflags knows which flags and feature gates kube-apiserver, kube-controller-manager, kube-scheduler and kubelet
// have in each minor version of Kubernetes, which admission plugins kube-apiserver has, and which fields the kubelet's
// configuration file has. The table is what the components of each version say themselves; `make kubeflags` (hack/kubeflags)
// writes it. The package knows no profiles and must not read anything but its table, which it decodes when it is first asked.
// Enter at Flag, Gate, Plugin and Field.
package kubeflags

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Minor is a minor version of Kubernetes 1. Zero stands for none.
type Minor int

// String writes the version, such as 1.34.
func (m Minor) String() string { return fmt.Sprintf("1.%d", int(m)) }

// Versions are the minor versions that the table knows, oldest first and without gaps.
func Versions() []Minor { return slices.Clone(load().Versions) }

// Components are the components that the table knows, sorted.
func Components() []string { return slices.Sorted(maps.Keys(load().Flags)) }

// Span says in which versions something is there.
type Span struct {
	// Since is the first version with it; zero when the oldest version of the table has it.
	Since Minor `json:"since,omitempty"`
	// Removed is the first version without it; zero when the newest version of the table has it.
	Removed Minor `json:"removed,omitempty"`
}

// In says whether it is there in a version.
func (s Span) In(m Minor) bool { return m >= s.Since && (s.Removed == 0 || m < s.Removed) }

// String says since when it is there and when it went, for messages.
func (s Span) String() string {
	switch {
	case s.Since != 0 && s.Removed == s.Since+1:
		return fmt.Sprintf("it is there in %s only", s.Since)
	case s.Since != 0 && s.Removed != 0:
		return fmt.Sprintf("it is there from %s to %s", s.Since, s.Removed-1)
	case s.Since != 0:
		return fmt.Sprintf("it was added in %s", s.Since)
	case s.Removed != 0:
		return fmt.Sprintf("it was removed in %s", s.Removed)
	default:
		return fmt.Sprintf("it is there since %s or longer", load().Versions[0])
	}
}

// FlagHistory is what became of a flag of one component.
type FlagHistory struct {
	Span
	// Type is the type of the value as pflag names it, such as bool, int32, duration or stringSlice.
	Type string
	// Deprecated is the first version in which the component warns of it; zero when none does.
	Deprecated Minor
	// Message is what the component says of a deprecated flag.
	Message string
}

// DeprecatedIn says whether the component warns of the flag in a version.
func (h FlagHistory) DeprecatedIn(m Minor) bool {
	return h.Deprecated != 0 && m >= h.Deprecated && h.In(m)
}

// Flag is the history of a flag, without the dashes in front; false when no version in the table has it.
func Flag(component, name string) (FlagHistory, bool) {
	t := load()
	row, ok := t.Flags[component][strings.ReplaceAll(name, "_", "-")]
	history := FlagHistory{Span: row.Span, Type: row.Type, Deprecated: row.Deprecated}
	if row.Deprecated != 0 {
		history.Message = t.Messages[row.Message]
	}
	return history, ok
}

// Flags are the flags that a component has in a version, sorted.
func Flags(component string, m Minor) []string {
	var names []string
	for name, row := range load().Flags[component] {
		if row.In(m) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Field is the history of a field of the KubeletConfiguration, by its path: `a.b`, with [] for the items of a list and {} for
// the values of a map; false when no version in the table has it.
func Field(path string) (FieldHistory, bool) {
	history, ok := load().Fields[path]
	return history, ok
}

// FieldHistory is what became of a field.
type FieldHistory struct {
	Span
	// Kind is object, map, list, string, bool, integer, number, or any for a field with a form of its own, such as a duration.
	Kind string `json:"kind"`
}

// Fields are the fields directly below a path that the KubeletConfiguration has in a version, sorted; the empty path is the top.
func Fields(path string, m Minor) []string {
	var names []string
	if path != "" {
		path += "."
	}
	for field, history := range load().Fields {
		name, ok := strings.CutPrefix(field, path)
		if ok && !strings.ContainsAny(name, ".[{") && history.In(m) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
