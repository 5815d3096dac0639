// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package kubeflags

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Stage is how far a feature has come.
type Stage string

// The stages (kubernetes: staging/src/k8s.io/component-base/featuregate).
const (
	Alpha      Stage = "alpha"
	Beta       Stage = "beta"
	GA         Stage = "ga"
	Deprecated Stage = "deprecated"
)

// GateState is the state of a feature gate in one version.
type GateState struct {
	Stage Stage
	// Default is the value where nothing is said.
	Default bool
	// Locked says that the gate takes no other value than the default.
	Locked bool
}

// GateHistory holds the states of a feature gate of one component, by version; versions without the gate are missing.
type GateHistory map[Minor]GateState

// In reports whether the component knows the gate in a version. It does not start with an unknown gate.
func (h GateHistory) In(m Minor) bool { _, ok := h[m]; return ok }

// String lists the versions of the gate with its stages, for messages.
func (h GateHistory) String() string {
	var words []string
	last := ""
	for _, m := range slices.Sorted(maps.Keys(h)) {
		if word := h[m].String(); word != last {
			words = append(words, fmt.Sprintf("%s since %s", word, m))
			last = word
		}
	}
	versions := load().Versions
	if len(words) > 0 && h.In(versions[0]) {
		words[0] += " or longer"
	}
	for _, m := range versions {
		if h.In(m-1) && !h.In(m) {
			words = append(words, fmt.Sprintf("removed in %s", m))
		}
	}
	return strings.Join(words, ", ")
}

// String returns the stage, and the value of a locked gate.
func (s GateState) String() string {
	if s.Locked {
		return fmt.Sprintf("%s and locked to %t", s.Stage, s.Default)
	}
	return string(s.Stage)
}

// Gate returns the history of a feature gate of a component. It returns false if no version in the table has it.
func Gate(component, name string) (GateHistory, bool) {
	line, ok := load().gate(component, name)
	if !ok {
		return nil, false
	}
	history := GateHistory{}
	for i, word := range strings.Fields(line) {
		if word != absent {
			history[load().Versions[i]] = parseState(word)
		}
	}
	return history, true
}

// Gates returns the gates that a component knows in a version, sorted.
func Gates(component string, m Minor) []string {
	var names []string
	t := load()
	index := slices.Index(t.Versions, m)
	for _, owner := range []string{every, component} {
		for name, line := range t.Gates[owner] {
			if words := strings.Fields(line); index >= 0 && words[index] != absent {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// absent is the word for a version without the gate.
const absent = "."

// Word writes the state for the table, such as beta- or ga+! (on by default, and locked).
func (s GateState) Word() string {
	word := string(s.Stage) + "-"
	if s.Default {
		word = string(s.Stage) + "+"
	}
	if s.Locked {
		word += "!"
	}
	return word
}

func parseState(word string) GateState {
	text, locked := strings.CutSuffix(word, "!")
	stage, on := strings.CutSuffix(text, "+")
	return GateState{Stage: Stage(strings.TrimSuffix(stage, "-")), Default: on, Locked: locked}
}
