// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"regexp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// The flags that list feature gates and admission plugins, which have operations of their own.
const (
	gatesFlag   = "feature-gates"
	enableFlag  = "enable-admission-plugins"
	disableFlag = "disable-admission-plugins"
)

var flagName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*$`)

// commandOf reads the command line of a container; nil where it has none that is read as flags.
func commandOf(container tree) *document.CommandLine {
	parsed, err := document.Parse(rawOf(tree{"command": orEmpty(container["command"]), "args": orEmpty(container["args"])}))
	if err != nil {
		return nil
	}
	line, err := document.CommandLineOf(parsed.Root())
	if err != nil {
		return nil
	}
	return line
}

func orEmpty(value any) any {
	if value == nil {
		return []any{}
	}
	return value
}

// besides are the elements of a command line that are neither the program nor flags or their values.
func besides(container tree, line *document.CommandLine) []string {
	var (
		elements []string
		begin    = map[string]int{}
	)
	for _, list := range []string{"command", "args"} {
		begin[list] = len(elements)
		items, _ := container[list].([]any)
		for _, element := range items {
			elements = append(elements, scalarText(element))
		}
	}
	taken := make([]bool, len(elements)+1)
	for i := range line.Program() {
		taken[i] = true
	}
	for f := range line.Flags() {
		at := begin[f.List] + f.Index
		taken[at] = true
		if !f.Bare && !strings.Contains(elements[at], "=") {
			taken[at+1] = true
		}
	}
	var rest []string
	for i, element := range elements {
		if !taken[i] {
			rest = append(rest, element)
		}
	}
	return rest
}

// commandLine compares the command lines of a container, flag by flag; what is no flag is left for others.
func (d *differ) commandLine(name string, before, after tree) {
	if equal(before["command"], after["command"]) && equal(before["args"], after["args"]) {
		return
	}
	was, is := commandOf(before), commandOf(after)
	if was == nil || is == nil || !slices.Equal(was.Program(), is.Program()) || !slices.Equal(besides(before, was), besides(after, is)) {
		return
	}
	d.flags(name, flagsIn(&was.FlagList), flagsIn(&is.FlagList))
	for _, member := range []string{"command", "args"} {
		delete(before, member)
		delete(after, member)
	}
}

// flagValue is what a flag has: values, or none for one that stands bare.
type flagValue struct {
	values []string
	bare   bool
}

func flagsIn(list *document.FlagList) map[string]flagValue {
	flags := map[string]flagValue{}
	for _, name := range list.Names() {
		flags[name] = flagValue{values: list.Values(name), bare: list.Bare(name)}
	}
	return flags
}

// flags makes atoms of the flags that differ.
func (d *differ) flags(container string, before, after map[string]flagValue) {
	own := container == d.owner.Container
	if own {
		d.gates(before, after)
		if d.owner.Component == "kube-apiserver" {
			d.plugins(before, after)
		}
	}
	for _, name := range union(after, before) {
		was, had := before[name]
		is, has := after[name]
		switch {
		case had == has && equal(was, is), !flagName.MatchString(name):
		case own && (name == gatesFlag || name == enableFlag || name == disableFlag):
		case !has:
			d.remove("flags", containerArgument(container, own), name)
		case own && !d.subject.secrets.lists(slices.Concat(was.values, is.values)) && d.entries(name, was, is):
		default:
			d.add("flags", containerArgument(container, own), is.argument(), "set", name)
		}
	}
}

func containerArgument(name string, own bool) []argument {
	if own {
		return nil
	}
	return []argument{{"container", name}}
}

// argument is the value as the operation flags takes it.
func (v flagValue) argument() any {
	switch {
	case v.bare:
		return nil
	case len(v.values) == 1:
		return v.values[0]
	}
	list := make([]any, len(v.values))
	for i, value := range v.values {
		list[i] = value
	}
	return list
}

// joined are all entries of a flag that may stand several times.
func (v flagValue) joined() string { return strings.Join(v.values, ",") }

// gates compares feature gates one by one.
func (d *differ) gates(before, after map[string]flagValue) {
	was, is := entriesOf(before[gatesFlag].joined()), entriesOf(after[gatesFlag].joined())
	for _, gate := range union(is, was) {
		old, had := was[gate]
		now, has := is[gate]
		switch {
		case had == has && old == now:
		case !has:
			d.add("featureGates", nil, nil, gate).plain = true
		default:
			d.add("featureGates", nil, boolean(now), gate).plain = true
		}
	}
}

func boolean(text string) any {
	switch text {
	case "true":
		return true
	case "false":
		return false
	}
	return text
}

func entriesOf(value string) map[string]string {
	entries := map[string]string{}
	for key, entry := range document.MapValue(value).Entries() {
		entries[key] = entry
	}
	return entries
}

// plugins compares in which of the two lists admission plugins stand.
func (d *differ) plugins(before, after map[string]flagValue) {
	state := func(flags map[string]flagValue) map[string]string {
		states := map[string]string{}
		for list, flag := range map[string]string{"enable": enableFlag, "disable": disableFlag} {
			for _, plugin := range document.ListValue(flags[flag].joined()).Items() {
				states[plugin] += list
			}
		}
		return states
	}
	was, is := state(before), state(after)
	for _, plugin := range union(is, was) {
		switch now := is[plugin]; {
		case was[plugin] == now || plugin == "":
		case now == "":
			d.add("admissionPlugins", nil, plugin, "default", item).plain = true
		case now == "enable", now == "disable":
			d.add("admissionPlugins", nil, plugin, now, item).plain = true
		}
	}
}

// entries makes atoms of the entries of a flag that is a list or a map; false where the flag is neither, or is better set whole.
func (d *differ) entries(name string, was, is flagValue) bool {
	history, known := kubeflags.Flag(d.owner.Component, name)
	if !known || len(was.values) > 1 || len(is.values) != 1 || is.bare {
		return false
	}
	switch history.Type {
	case "mapStringString", "mapStringBool", "stringToString":
		return d.mapEntries(name, was.joined(), is.joined())
	case "stringSlice", "int32Slice":
		return len(was.values) == 1 && d.listItems(name, was.joined(), is.joined())
	}
	return false
}

func (d *differ) mapEntries(name, was, is string) bool {
	before, after := entriesOf(was), entriesOf(is)
	var atoms []*atom
	made := document.MapValue(was)
	for _, key := range union(after, before) {
		now, has := after[key]
		var err error
		switch old, had := before[key]; {
		case had == has && old == now:
		case !has:
			made, err = made.Remove(key)
			atoms = append(atoms, &atom{owner: d.owner, operation: "mapFlags", path: []string{name, "remove", item}, value: key, plain: true})
		default:
			made, err = made.Set(key, now)
			atoms = append(atoms, &atom{owner: d.owner, operation: "mapFlags", path: []string{name, "set", key}, value: boolean(now)})
		}
		if err != nil {
			return false
		}
	}
	if !equal(entriesOf(string(made)), after) {
		return false
	}
	d.atoms = append(d.atoms, atoms...)
	return true
}

func (d *differ) listItems(name, was, is string) bool {
	before, after := document.ListValue(was).Items(), document.ListValue(is).Items()
	var atoms []*atom
	made, kept := document.ListValue(was), 0
	for _, old := range before {
		if slices.Contains(after, old) {
			kept++
			continue
		}
		made = made.Remove(old)
		atoms = append(atoms, &atom{owner: d.owner, operation: "listFlags", path: []string{name, "remove", item}, value: old, plain: true})
	}
	for _, now := range after {
		if !slices.Contains(before, now) {
			made = made.Add(now)
			atoms = append(atoms, &atom{owner: d.owner, operation: "listFlags", path: []string{name, "add", item}, value: now, plain: true})
		}
	}
	if kept == 0 || string(made) != is {
		return false
	}
	d.atoms = append(d.atoms, atoms...)
	return true
}
