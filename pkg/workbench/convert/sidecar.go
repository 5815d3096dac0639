// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"regexp"
	"slices"
	"strings"
)

var providerName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// sidecar proposes machineControllerManagerProvider for a provider's container: it asks the engine what the operation makes with
// the image alone, and gives as arguments what differs. Into before it puts the container that the operation will make.
func (p *proposer) sidecar(s *subject, d *differ, name string) bool {
	provider, ok := strings.CutPrefix(name, sidecarPrefix)
	after, _, _ := keyed(treeAt(d.after, podSpec...)["containers"], "name")
	is := after[name]
	if !ok || !providerName.MatchString(provider) || textAt(is, "image") == "" {
		return false
	}
	arguments := tree{"provider": provider, "image": is["image"]}
	made := p.madeBy(s, name, arguments)
	if made == nil {
		return false
	}
	// Objects of a seed have been defaulted; the operation makes a container as it is sent.
	forgetDefaults(is, made)
	stored, _, _ := keyed(treeAt(s.after, podSpec...)["containers"], "name")
	forgetDefaults(stored[name], made)
	if !sidecarArgs(arguments, made, is) || !sidecarEnv(arguments, made, is) || !sidecarMounts(arguments, made, is) {
		return false
	}
	a := d.add("machineControllerManagerProvider", nil, arguments)
	a.notes = append(a.notes, "the image may come from an imageVector: ${ images["+"\""+name+"\""+"] }")
	spec := treeAt(d.before, podSpec...)
	container := but(made)
	for _, member := range []string{"image", "command", "args", "env", "volumeMounts"} {
		delete(container, member)
		if value, ok := is[member]; ok {
			container[member] = clone(value)
		}
	}
	items, _ := spec["containers"].([]any)
	spec["containers"] = append(slices.Clone(items), container)
	return true
}

// madeBy is the container that the operation makes; nil where it cannot be tried.
func (p *proposer) madeBy(s *subject, name string, arguments tree) tree {
	try := &variant{atom: &atom{owner: s.target, operation: "machineControllerManagerProvider", value: arguments}, value: arguments}
	program := p.compile([]*rule{{set: p.setOf(try.atom), variants: []*variant{try}}})
	if program == nil {
		return nil
	}
	result, err := p.admit(program, s, s.raw)
	if err != nil || result == nil {
		return nil
	}
	object, err := decodeTree(result)
	if err != nil {
		return nil
	}
	containers, _, _ := keyed(treeAt(object, podSpec...)["containers"], "name")
	return containers[name]
}

// sidecarArgs gives the flags that differ as arguments; false where they cannot be given.
func sidecarArgs(arguments, made, is tree) bool {
	was, now := commandOf(made), commandOf(is)
	if was == nil || now == nil || !slices.Equal(was.Program(), now.Program()) || !slices.Equal(besides(made, was), besides(is, now)) {
		return false
	}
	before, after := flagsIn(&was.FlagList), flagsIn(&now.FlagList)
	args := tree{}
	for _, flag := range union(after, before) {
		value, has := after[flag]
		switch {
		case equal(before[flag], value):
		case flag == "port", !flagName.MatchString(flag), has && (value.bare || len(value.values) != 1), flag == gatesFlag:
			return false
		case !has:
			args[flag] = nil
		default:
			args[flag] = value.values[0]
		}
	}
	if len(args) > 0 {
		arguments["args"] = args
	}
	return true
}

func sidecarEnv(arguments, made, is tree) bool {
	was, _, ok := keyed(made["env"], "name")
	now, _, isOk := keyed(is["env"], "name")
	if !ok || !isOk || len(was) > 0 {
		return false
	}
	env := tree{}
	for name, variable := range now {
		env[name] = textAt(variable, "value")
		if from := treeAt(variable, "valueFrom"); from != nil {
			env[name] = from
		}
	}
	if len(env) > 0 {
		arguments["env"] = env
	}
	return true
}

func sidecarMounts(arguments, made, is tree) bool {
	was, _, ok := keyed(made["volumeMounts"], "name")
	now, _, isOk := keyed(is["volumeMounts"], "name")
	if !ok || !isOk {
		return false
	}
	mounts := tree{}
	for _, name := range union(now, was) {
		if now[name] == nil {
			return false
		}
		if !equal(was[name], now[name]) {
			mounts[name] = but(now[name], "name")
		}
	}
	if len(mounts) > 0 {
		arguments["volumeMounts"] = mounts
	}
	return true
}
