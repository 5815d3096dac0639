// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// operatingSystemConfig is what gardener-node-agent makes of the OperatingSystemConfig of a worker pool. No node is replaced for it,
// whatever is in it: the hash of a pool is made of the Shoot (gardener extensions/pkg/controller/worker/machines.go, WorkerPoolHash,
// and pkg/component/extensions/operatingsystemconfig/operatingsystemconfig.go, KeyV2), never of units, files or the kubelet's
// configuration that webhooks write.
func operatingSystemConfig(c *change) []Effect {
	if !c.changed("spec") {
		return nil
	}
	if c.after.text("spec", "purpose") == "provision" {
		return []Effect{{Later, "machines that are made from now on start with it", c.places("spec")}}
	}
	files := c.files()
	effects := append(c.kubeletConfiguration(), c.units(files)...)
	effects = append(effects, c.containerd()...)
	effects = append(effects, files.alone(effects)...)
	var places []string
	for _, field := range []string{"type", "providerConfig"} {
		if c.changed("spec", field) {
			places = append(places, c.places("spec."+field)...)
		}
	}
	if len(places) > 0 {
		effects = append(effects, Effect{Nothing, "the extension of the operating system reads it; units and files of its own may follow", places})
	}
	return effects
}

// fileChanges are the changed files, as computeFileDiffs finds them (gardener pkg/nodeagent/controller/operatingsystemconfig/changes.go).
type fileChanges struct {
	// written are new or changed, removed are gone; both are paths on the node, sorted.
	written, removed []string
}

func (c *change) files() fileChanges {
	was, is := c.before.at("spec", "files").by("path"), c.after.at("spec", "files").by("path")
	var changes fileChanges
	for _, path := range slices.Sorted(maps.Keys(is)) {
		if old, ok := was[path]; !ok || !old.equal(is[path]) {
			changes.written = append(changes.written, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(was)) {
		if _, ok := is[path]; !ok {
			changes.removed = append(changes.removed, path)
		}
	}
	return changes
}

// alone is the effect of files that restart nothing.
func (f fileChanges) alone(others []Effect) []Effect {
	named := map[string]bool{}
	for _, effect := range others {
		for _, place := range effect.Places {
			named[place] = true
		}
	}
	var effects []Effect
	for _, group := range []struct {
		paths []string
		what  string
	}{{f.written, "written to nodes that run"}, {f.removed, "removed from nodes that run"}} {
		var places []string
		for _, path := range group.paths {
			if place := filePlace(path); !named[place] {
				places = append(places, place)
			}
		}
		if len(places) > 0 {
			effects = append(effects, Effect{Files, counted(len(places), "file is ", "files are ") + group.what + ", no unit is restarted", places})
		}
	}
	return effects
}

func filePlace(path string) string { return "spec.files[" + path + "]" }

// units are those that are restarted, started or stopped, as computeUnitDiffs and executeUnitCommands do (gardener
// pkg/nodeagent/controller/operatingsystemconfig, changes.go and reconciler.go): for a change of the unit itself, and of a file
// that its filePaths name.
func (c *change) units(files fileChanges) []Effect {
	was, is := c.unitsOf(c.before), c.unitsOf(c.after)
	verbs := map[string][]string{}
	places := map[string][]string{}
	note := func(verb, name string, more ...string) {
		verbs[verb] = append(verbs[verb], name)
		places[verb] = append(places[verb], more...)
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		unit, old, existed := is[name], was[name], was[name].spec.there()
		touched := unit.touched(files)
		switch {
		case !existed && unit.stops():
			note("stopped", name, unitPlace(name))
		case !existed:
			note("started", name, unitPlace(name))
		case old.spec.equal(unit.spec) && len(touched) == 0:
		case unit.stops():
			note("stopped", name, c.because(unitPlace(name), touched)...)
		default:
			note("restarted", name, c.because(unitPlace(name), touched)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if is[name].spec.there() {
			continue
		}
		if was[name].spec.text("content") != "" {
			note("stopped and removed", name, unitPlace(name))
		} else {
			note("restarted", name, unitPlace(name))
		}
	}
	var effects []Effect
	for _, verb := range slices.Sorted(maps.Keys(verbs)) {
		what := strings.Join(verbs[verb], ", ") + plural(len(verbs[verb]), " is ", " are ") + verb + " on the nodes of the pool"
		effects = append(effects, Effect{Units, what, places[verb]})
	}
	return effects
}

func unitPlace(name string) string { return "spec.units[" + name + "]" }

// because are the places of a unit that differ, and of its files.
func (c *change) because(unit string, files []string) []string {
	places := c.places(unit)
	if len(places) == 1 && places[0] == unit && len(files) > 0 {
		places = nil
	}
	for _, path := range files {
		places = append(places, filePlace(path))
	}
	return places
}

// unit is one of spec.units, with the files that the extension of the operating system adds to it.
type unit struct {
	spec  node
	files []string
}

func (*change) unitsOf(object node) map[string]unit {
	units := map[string]unit{}
	for name, spec := range object.at("spec", "units").by("name") {
		units[name] = unit{spec, spec.at("filePaths").texts()}
	}
	for name, more := range object.at("status", "extensionUnits").by("name") {
		if known, ok := units[name]; ok {
			known.files = append(known.files, more.at("filePaths").texts()...)
			units[name] = known
		}
	}
	return units
}

// touched are the changed files that the unit names.
func (u unit) touched(files fileChanges) []string {
	var touched []string
	for _, path := range files.written {
		if slices.Contains(u.files, path) {
			touched = append(touched, path)
		}
	}
	return touched
}

// stops is getCommandToExecute of gardener-node-agent.
func (u unit) stops() bool {
	return u.spec.at("enable").value == false || u.spec.text("command") == "stop"
}

// containerd is restarted for these three; registries are files that it reads by itself.
func (c *change) containerd() []Effect {
	var places []string
	for _, field := range []string{"containerd.sandboxImage", "containerd.plugins", "cgroupDriver"} {
		if path := "spec.criConfig." + field; c.changed(strings.Split(path, ".")...) {
			places = append(places, c.places(path)...)
		}
	}
	var effects []Effect
	if len(places) > 0 {
		effects = append(effects, Effect{Units, "containerd.service is restarted on the nodes of the pool", places})
	}
	if path := "spec.criConfig.containerd.registries"; c.changed(strings.Split(path, ".")...) {
		effects = append(effects, Effect{Files, "containerd's files for registries are written to nodes that run, no unit is restarted", c.places(path)})
	}
	return effects
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func counted(n int, one, many string) string { return fmt.Sprintf("%d %s", n, plural(n, one, many)) }
