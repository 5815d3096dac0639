// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
)

// mergedItems returns a comparison of the items of a list that an operation adds, removes and merges.
func mergedItems(operation, key string) func(*differ, fieldpath.Path, any, any) bool {
	return func(d *differ, list fieldpath.Path, before, after any) bool {
		pairs, ok := pairsOf(before, after, key)
		for _, i := range pairs {
			switch path := itemOf(list, key, i.name); {
			case i.after == nil:
				d.remove(operation, nil, i.name)
			case i.before != nil && operation == "containers":
				d.container(path, i)
			case i.before != nil:
				d.merged(operation, path).compare(path, i.before, i.after)
			case !d.sidecar(i.name, i.after):
				d.add(operation, nil, but(i.after, key), "set", i.name)
			}
		}
		return ok
	}
}

// merged returns a comparison of an item that an operation merges; fields removes its members.
func (d *differ) merged(operation string, item fieldpath.Path) comparison {
	return comparison{
		set: func(p fieldpath.Path, value any) {
			d.add(operation, nil, value, append([]string{"set", item[len(item)-1].Key}, p[len(item):].Keys()...)...)
		},
		remove: func(p fieldpath.Path) { d.remove("fields", nil, p.String()) },
	}
}

// sidecarPrefix begins the name of the container that a provider adds to the machine-controller-manager.
const sidecarPrefix = "machine-controller-manager-provider-"

// sidecar proposes a provider's new sidecar with its image and its mounts, except that of the kubeconfig, or the policy
// of the sidecar. It returns false for other containers.
func (d *differ) sidecar(name string, added tree) bool {
	provider, isSidecar := strings.CutPrefix(name, sidecarPrefix)
	image, hasImage := added["image"]
	if !isSidecar || !d.owner.Has(target.ProviderSidecar) || hasImage != d.owner.Has(target.PodTemplate) {
		return false
	}
	value, mounts := tree{}, tree{}
	if hasImage {
		value["image"] = image
	}
	for _, mount := range listAt(added, "volumeMounts") {
		if volume := textAt(mount, "name"); volume != "kubeconfig" {
			mounts[volume] = but(treeAt(mount), "name")
		}
	}
	if len(mounts) > 0 {
		value["volumeMounts"] = mounts
	}
	d.add("machineControllerManagerProvider", []argument{{"provider", provider}}, value)
	return true
}

// container compares a container: its flags, environment and mounts, and the other fields.
func (d *differ) container(path fieldpath.Path, i pair) {
	var fixed []argument
	if i.name != d.owner.Container {
		fixed = []argument{{"container", i.name}}
	}
	before, after := i.before, i.after
	was, is := commandOf(before), commandOf(after)
	if was != nil && is != nil && slices.Equal(was.Program(), is.Program()) {
		d.flags(fixed == nil, fixed, &was.FlagList, &is.FlagList)
		before, after = but(before, "command", "args"), but(after, "command", "args")
	}
	c := d.merged("containers", path)
	c.own = func(p fieldpath.Path, was, is any) bool {
		switch p[len(path):].String() {
		case "env":
			return d.items("env", fixed, was, is, valueOfVariable)
		case "volumeMounts":
			d.mounts(p, i.name, listAt(was), listAt(is))
			return true
		}
		return false
	}
	c.compare(path, before, after)
}

// valueOfVariable returns the source of an environment variable, or its text.
func valueOfVariable(variable tree) any {
	if from := treeAt(variable, "valueFrom"); from != nil {
		return from
	}
	return textAt(variable, "value")
}

// volumes compares the volumes of a pod template.
func (d *differ) volumes(_ fieldpath.Path, before, after any) bool {
	return d.items("volumes", nil, before, after, func(volume tree) any { return but(volume, "name") })
}

// mounts proposes the new mounts of a container. A removed volume takes its mounts with it; the engine refuses to remove
// others.
func (d *differ) mounts(p fieldpath.Path, container string, before, after []any) {
	volumes, _ := pairsOf(at(d.before, "spec", "template", "spec", "volumes"), at(d.after, "spec", "template", "spec", "volumes"), "name")
	left := slices.DeleteFunc(slices.Clone(before), func(mount any) bool {
		return slices.ContainsFunc(volumes, func(v pair) bool { return v.after == nil && v.name == textAt(mount, "name") })
	})
	added := slices.DeleteFunc(slices.Clone(after), func(mount any) bool {
		return slices.ContainsFunc(left, func(other any) bool { return equal(mount, other) })
	})
	switch {
	case len(added) > 0:
		d.add("containers", nil, added, "set", container, "volumeMounts")
	case len(after) < len(left):
		d.remove("fields", nil, p.String())
	}
}

// commandOf reads the command line of a container; nil where it is not one of flags.
func commandOf(container tree) *commandline.CommandLine {
	words := tree{}
	for _, list := range []string{"command", "args"} {
		if value, ok := container[list]; ok {
			words[list] = value
		}
	}
	parsed, err := document.Parse(rawOf(words))
	if err != nil {
		return nil
	}
	line, err := commandline.CommandLineOf(parsed.Root())
	if err != nil {
		return nil
	}
	return line
}

// Flags with lists of feature gates and admission plugins, which have their own operations.
const (
	gatesFlag   = "feature-gates"
	enableFlag  = "enable-admission-plugins"
	disableFlag = "disable-admission-plugins"
)

// flags compares flags; own reports that they are the component's.
func (d *differ) flags(own bool, fixed []argument, before, after *commandline.FlagList) {
	if own {
		d.gates(entriesOf(before.Values(gatesFlag)), entriesOf(after.Values(gatesFlag)))
		d.plugins(before, after)
	}
	for _, name := range union(after.Names(), before.Names()) {
		was, is := before.Values(name), after.Values(name)
		history, _ := kubeflags.Flag(d.owner.Component, name)
		switch {
		case own && (name == gatesFlag || name == enableFlag || name == disableFlag):
		case is == nil:
			d.remove("flags", fixed, name)
		case slices.Equal(was, is) && before.Bare(name) == after.Bare(name):
		case own && strings.HasPrefix(history.Type, "map") && len(was) == 1 && len(is) == 1:
			d.named("mapFlags", entriesOf(was), entriesOf(is), name)
		case after.Bare(name):
			d.add("flags", fixed, nil, "set", name)
		default:
			d.add("flags", fixed, oneOrMore(is), "set", name)
		}
	}
}

// entriesOf returns the entries of a flag with a map, with true and false as such.
func entriesOf(values []string) tree {
	entries := tree{}
	for key, value := range commandline.MapValue(strings.Join(values, ",")).Entries() {
		entries[key] = value
		if value == "true" || value == "false" {
			entries[key] = value == "true"
		}
	}
	return entries
}

// gates adds an entry for each feature gate that differs; null removes one.
func (d *differ) gates(before, after tree) {
	for _, name := range keys(before, after) {
		if !equal(before[name], after[name]) {
			d.add("featureGates", nil, after[name], name)
		}
	}
}

// plugins compares the two lists of admission plugins. A plugin in none of them has its default.
func (d *differ) plugins(before, after *commandline.FlagList) {
	states := func(flags *commandline.FlagList) tree {
		states := tree{}
		for _, list := range []struct{ state, flag string }{{"enable", enableFlag}, {"disable", disableFlag}} {
			for _, plugin := range commandline.ListValue(strings.Join(flags.Values(list.flag), ",")).Items() {
				states[plugin] = list.state
			}
		}
		return states
	}
	was, is := states(before), states(after)
	for _, plugin := range keys(was, is) {
		if was[plugin] != is[plugin] {
			d.add("admissionPlugins", nil, plugin, cmp.Or(textAt(is, plugin), "default"), item)
		}
	}
}

// oneOrMore returns one text, or a list of several.
func oneOrMore(values []string) any {
	if len(values) == 1 {
		return values[0]
	}
	return listOf(values)
}
