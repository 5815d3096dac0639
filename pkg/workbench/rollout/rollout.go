// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package rollout says what follows in a landscape when an object of a control plane becomes another: which pods are replaced,
// which units of nodes are restarted, what only new machines or volumes see, and what follows from nothing.
//
// It compares two objects as they are stored and asks nobody. What the API server adds as defaults it does not know: a field that
// one object spells out and the other leaves to its default counts as a change. Enter at Of.
package rollout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// Impact says what kind of thing follows from a change.
type Impact string

// The impacts, the gravest first.
const (
	// Breaks: something does not start, or the API server refuses the change of an object that exists.
	Breaks Impact = "breaks"
	// Nodes are replaced, or drained and updated in place.
	Nodes Impact = "nodes"
	// Pods are replaced.
	Pods Impact = "pods"
	// Units of nodes are restarted or stopped; the pods on the nodes run on.
	Units Impact = "units"
	// Scale: pods are added or taken away, those that stay run on.
	Scale Impact = "scale"
	// Later: only what is made from now on is different, such as new machines and volumes.
	Later Impact = "later"
	// Files are written to nodes, and nothing is restarted.
	Files Impact = "files"
	// Nothing is replaced or restarted.
	Nothing Impact = "nothing"
)

// Impacts are all of them, the gravest first.
func Impacts() []Impact { return []Impact{Breaks, Nodes, Pods, Units, Scale, Later, Files, Nothing} }

// Graver compares impacts: negative when the first is the graver one.
func Graver(a, b Impact) int { return slices.Index(Impacts(), a) - slices.Index(Impacts(), b) }

// Effect is one thing that follows from a change.
type Effect struct {
	Impact Impact `json:"impact"`
	// What says it in a few words, such as "pods are replaced".
	What string `json:"what"`
	// Places are those in the object of which the change brings it about.
	Places []string `json:"places,omitempty"`
}

// ErrUnreadable means that a text is no object.
var ErrUnreadable = errors.New("not an object")

// Of is what follows when an object, as JSON, becomes another; the gravest first. Nothing follows from no change: there is no
// effect then. The error wraps ErrUnreadable.
func Of(before, after []byte) ([]Effect, error) {
	c, err := newChange(before, after)
	if err != nil {
		return nil, err
	}
	if len(c.paths) == 0 && c.before.own().equal(c.after.own()) {
		return nil, nil
	}
	var effects []Effect
	if judge := judges[groupKind{c.before.group(), c.before.text("kind")}]; judge != nil {
		effects = judge(c)
	}
	if len(effects) == 0 {
		effects = []Effect{{Impact: Nothing, What: "nothing is replaced or restarted"}}
	}
	slices.SortStableFunc(effects, func(a, b Effect) int { return Graver(a.Impact, b.Impact) })
	return effects, nil
}

type groupKind struct{ group, kind string }

// judges know the kinds of which a change has consequences. To add one: one entry here.
var judges = map[groupKind]func(*change) []Effect{
	{"apps", "Deployment"}:                                 deployment,
	{"apps", "StatefulSet"}:                                statefulSet,
	{"apps", "DaemonSet"}:                                  daemonSet,
	{"batch", "Job"}:                                       job,
	{"batch", "CronJob"}:                                   cronJob,
	{"druid.gardener.cloud", "Etcd"}:                       etcd,
	{"extensions.gardener.cloud", "OperatingSystemConfig"}: operatingSystemConfig,
	{"extensions.gardener.cloud", "Worker"}:                worker,
	{"autoscaling.k8s.io", "VerticalPodAutoscaler"}:        verticalPodAutoscaler,
}

// change is an object before and after, with the lines in which it differs.
type change struct {
	before, after node
	paths         []string
}

func newChange(before, after []byte) (*change, error) {
	c := &change{}
	for _, side := range []struct {
		raw  []byte
		into *node
	}{{before, &c.before}, {after, &c.after}} {
		decoder := json.NewDecoder(bytes.NewReader(side.raw))
		decoder.UseNumber()
		var object map[string]any
		if err := decoder.Decode(&object); err != nil || object == nil {
			return nil, fmt.Errorf("comparing two states: %w", ErrUnreadable)
		}
		*side.into = node{object}
	}
	was, err := render.Text(before)
	if err != nil {
		return nil, fmt.Errorf("comparing two states: %w", err)
	}
	is, err := render.Text(after)
	if err != nil {
		return nil, fmt.Errorf("comparing two states: %w", err)
	}
	c.paths = changedPaths(was, is)
	return c, nil
}

// changedPaths are the places of lines that only one side has, in the order of the object, each once.
func changedPaths(was, is []render.Line) []string {
	type key struct{ path, text string }
	count := map[key]int{}
	for _, line := range is {
		count[key{line.Path, line.Text}]++
	}
	var paths []string
	seen := map[string]bool{}
	add := func(path string) {
		if !seen[path] {
			seen[path] = true
			paths = append(paths, path)
		}
	}
	for _, line := range was {
		if k := (key{line.Path, line.Text}); count[k] > 0 {
			count[k]--
		} else {
			add(line.Path)
		}
	}
	for _, line := range is {
		if k := (key{line.Path, line.Text}); count[k] > 0 {
			count[k]--
			add(line.Path)
		}
	}
	return paths
}
