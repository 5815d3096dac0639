// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// units compares the systemd units of a node by their names.
func (d *differ) units() {
	was, _, ok := keyed(at(d.before, "spec", "units"), "name")
	is, now, isOk := keyed(at(d.after, "spec", "units"), "name")
	if !ok || !isOk {
		return
	}
	for _, name := range now {
		switch {
		case equal(was[name], is[name]) || !strings.Contains(name, "."):
		case name == target.KubeletUnit:
			d.kubelet(func() { d.unit(name, was[name], is[name]) })
		default:
			d.unit(name, was[name], is[name])
		}
	}
	drop(d.before, "spec", "units")
	drop(d.after, "spec", "units")
}

// unit compares one unit; before is nil for a new one.
func (d *differ) unit(name string, before, after tree) {
	fixed := []argument{{"name", name}}
	if name == target.KubeletUnit {
		fixed = nil
	}
	if was, is := textAt(before, "content"), textAt(after, "content"); was != is {
		switch {
		case before != nil && !d.subject.secrets.spans(was, is) && d.options(name, fixed, was, is):
		case name != target.KubeletUnit && is != "":
			d.add("unit", fixed, is, "content")
		}
	}
	for _, field := range []string{"enable", "command"} {
		if value, ok := after[field]; ok && !equal(before[field], value) {
			d.add("unit", fixed, value, field).plain = true
		}
	}
	d.dropIns(fixed, before, after)
}

func (d *differ) dropIns(fixed []argument, before, after tree) {
	was, order, ok := keyed(before["dropIns"], "name")
	is, now, isOk := keyed(after["dropIns"], "name")
	if !ok || !isOk {
		return
	}
	for _, name := range order {
		if is[name] == nil {
			d.add("unit", fixed, nil, "dropIns", name).plain = true
		}
	}
	for _, name := range now {
		if !equal(was[name], is[name]) {
			d.add("unit", fixed, textAt(is[name], "content"), "dropIns", name)
		}
	}
}

// options compares a unit option by option; false where it cannot be read, or is more than half another one.
func (d *differ) options(name string, fixed []argument, before, after string) bool {
	was, err := document.UnitOf(before)
	is, errIs := document.UnitOf(after)
	if err != nil || errIs != nil {
		return false
	}
	kubelet := name == target.KubeletUnit
	atoms, kept := d.optionAtoms(fixed, was, is, kubelet)
	if !kubelet && len(atoms) > kept {
		return false
	}
	d.atoms = append(d.atoms, atoms...)
	if kubelet {
		d.kubeletFlags(was, is)
	}
	return true
}

// optionAtoms are the options that differ; kept is the number of those that do not.
func (d *differ) optionAtoms(fixed []argument, was, is *document.Unit, kubelet bool) (atoms []*atom, kept int) {
	before, after := optionsIn(was), optionsIn(is)
	for _, key := range union(after, before) {
		old, now := before[key], after[key]
		section, option, _ := strings.Cut(key, "\x00")
		if slices.Equal(old, now) || kubelet && option == "ExecStart" {
			kept++
			continue
		}
		inSection := append(slices.Clone(fixed), argument{"section", section})
		a := &atom{owner: d.owner, operation: "unit", fixed: inSection, path: []string{"set", option}, value: texts(now)}
		switch {
		case len(now) == 0:
			a.path, a.value, a.plain = []string{"remove", item}, option, true
		case len(old) > 0 && len(now) > len(old) && slices.Equal(now[:len(old)], old), len(old) == 0 && repeats(option):
			a.path, a.value = []string{"add", option}, texts(now[len(old):])
		}
		atoms = append(atoms, a)
	}
	return atoms, kept
}

// repeats says whether an option usually stands several times, so that one more is added beside those of others.
func repeats(option string) bool {
	return strings.HasPrefix(option, "Exec") && option != "ExecStart" || option == "Environment" || option == "EnvironmentFile"
}

// optionsIn are the values of all options, by section and name.
func optionsIn(u *document.Unit) map[string][]string {
	options := map[string][]string{}
	for _, section := range u.Sections() {
		for line := range strings.SplitSeq(u.Text(), "\n") {
			name, _, found := strings.Cut(line, "=")
			if name = strings.TrimSpace(name); !found || name == "" {
				continue
			}
			if values := u.Values(section, name); values != nil {
				options[section+"\x00"+name] = values
			}
		}
	}
	return options
}

// texts is one text, or a list of several.
func texts(values []string) any {
	if len(values) == 1 {
		return values[0]
	}
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
	}
	return list
}

// kubeletFlags compares the command line of the kubelet.
func (d *differ) kubeletFlags(was, is *document.Unit) {
	before, err := was.Command("Service", "ExecStart")
	after, errIs := is.Command("Service", "ExecStart")
	if err != nil || errIs != nil {
		return
	}
	d.flags(d.owner.Container, flagsIn(&before.FlagList), flagsIn(&after.FlagList))
}
