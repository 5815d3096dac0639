// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/yamledit"
)

// node compares an OperatingSystemConfig, which holds two targets: the kubelet and the rest of the node.
func (d *differ) node() {
	node, _ := target.Lookup("node")
	d.owner = node
	d.units()
	d.files()
}

// kubelet runs a comparison for the target kubelet.
func (d *differ) kubelet(compare func()) {
	node := d.owner
	d.owner, _ = target.Lookup("kubelet")
	compare()
	d.owner = node
}

// units compares systemd units by their names.
func (d *differ) units() {
	l, ok := listsOf(treeAt(d.before, "spec"), treeAt(d.after, "spec"), "units", "name")
	if !ok {
		return
	}
	for _, name := range l.afterNames {
		switch {
		case equal(l.before[name], l.after[name]):
		case name == target.KubeletUnit:
			d.kubelet(func() { d.unit(nil, l.before[name], l.after[name]) })
		default:
			d.unit([]argument{{"name", name}}, l.before[name], l.after[name])
		}
	}
	drop(d.before, "spec", "units")
	drop(d.after, "spec", "units")
}

// unit compares one unit; before is nil for a new one.
func (d *differ) unit(fixed []argument, before, after tree) {
	was, is := textAt(before, "content"), textAt(after, "content")
	if was != is && (was == "" || !d.options(fixed, was, is)) {
		d.add("unit", fixed, is, "content")
	}
	for _, field := range []string{"enable", "command"} {
		if value, ok := after[field]; ok && !equal(before[field], value) {
			d.add("unit", fixed, value, field)
		}
	}
	dropIns, _ := listsOf(before, after, "dropIns", "name")
	for _, name := range dropIns.beforeNames {
		if dropIns.after[name] == nil {
			d.add("unit", fixed, nil, "dropIns", name)
		}
	}
	for _, name := range dropIns.afterNames {
		if !equal(dropIns.before[name], dropIns.after[name]) {
			d.add("unit", fixed, textAt(dropIns.after[name], "content"), "dropIns", name)
		}
	}
}

// options compares a unit option by option; false where one of the texts cannot be read.
func (d *differ) options(fixed []argument, before, after string) bool {
	was, err := systemd.Parse(before)
	is, errIs := systemd.Parse(after)
	if err != nil || errIs != nil {
		return false
	}
	if fixed == nil {
		old, errOld := was.Command("Service", "ExecStart")
		now, errNow := is.Command("Service", "ExecStart")
		if errOld == nil && errNow == nil {
			d.flags(true, nil, flagsIn(&old.FlagList), flagsIn(&now.FlagList))
		}
	}
	had, has := optionsIn(was), optionsIn(is)
	for _, key := range union(has, had) {
		old, now := had[key], has[key]
		section, option, _ := strings.Cut(key, "\x00")
		if slices.Equal(old, now) || fixed == nil && option == "ExecStart" {
			continue
		}
		in := append(slices.Clone(fixed), argument{"section", section})
		switch {
		case len(now) == 0:
			d.remove("unit", in, option)
		case len(now) > len(old) && slices.Equal(now[:len(old)], old) && (len(old) > 0 || strings.HasPrefix(option, "ExecStartP")):
			d.add("unit", in, texts(now[len(old):]), "add", option)
		default:
			d.add("unit", in, texts(now), "set", option)
		}
	}
	return true
}

// optionsIn returns the values of all options by section and name.
func optionsIn(u *systemd.Unit) map[string][]string {
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

// files compares the files of a node by their paths.
func (d *differ) files() {
	l, ok := listsOf(treeAt(d.before, "spec"), treeAt(d.after, "spec"), "files", "path")
	if !ok {
		return
	}
	for _, name := range l.beforeNames {
		if l.after[name] == nil {
			d.add("file", nil, tree{"path": name, "remove": true})
		}
	}
	for _, name := range l.afterNames {
		if !equal(l.before[name], l.after[name]) && !d.fileText(name, l.before[name], l.after[name]) {
			if value := fileArguments(name, l.after[name]); value != nil {
				d.add("file", nil, value)
			}
		}
	}
	drop(d.before, "spec", "files")
	drop(d.after, "spec", "files")
}

// fileText compares the text of a file by its content. It returns false if the whole file must be written.
func (d *differ) fileText(name string, before, after tree) bool {
	was, isText := inlineOf(before)
	is, willBeText := inlineOf(after)
	if !isText || !willBeText || !equal(before["permissions"], after["permissions"]) {
		return false
	}
	switch name {
	case target.KernelSettingsPath:
		return d.settings(was, is)
	case target.KubeletConfigurationPath:
		return d.configuration(was, is)
	}
	return was == is || d.document([]argument{{"file", name}}, was, is, path.Ext(name) == ".json")
}

// inlineOf returns the text of a file's content; false where it has none that is UTF-8.
func inlineOf(file tree) (string, bool) {
	inline := treeAt(file, "content", "inline")
	if inline == nil {
		return "", false
	}
	parsed, err := document.Parse(rawOf(inline))
	if err != nil {
		return "", false
	}
	content, err := document.ContentOf(parsed.Root())
	if err != nil || !utf8.Valid(content.Text()) {
		return "", false
	}
	return string(content.Text()), true
}

// fileArguments returns the arguments of the operation file for a whole file; nil where it cannot write the file.
func fileArguments(name string, file tree) tree {
	out := tree{"path": name}
	if mode, ok := file["permissions"].(json.Number); ok {
		number, err := strconv.ParseUint(mode.String(), 10, 12)
		if err != nil {
			return nil
		}
		out["permissions"] = octal(number)
	}
	content := treeAt(file, "content")
	for _, field := range []string{"secretRef", "imageRef", "transmitUnencoded"} {
		if value, ok := content[field]; ok {
			out[field] = value
		}
	}
	if inline := treeAt(content, "inline"); inline != nil {
		text, isText := inlineOf(file)
		if !isText {
			return nil
		}
		if out["content"] = text; inline["encoding"] != nil && inline["encoding"] != "" {
			out["encoding"] = inline["encoding"]
		}
	}
	return out
}

// octal are the permissions of a file, which are written as octal digits.
type octal uint64

// modeOf returns the mode of a file in a volume as octal; other values as they are.
func modeOf(key string, value any) any {
	number, ok := value.(json.Number)
	if !ok || key != "defaultMode" && key != "mode" {
		return value
	}
	mode, err := strconv.ParseUint(number.String(), 10, 12)
	if err != nil {
		return value
	}
	return octal(mode)
}

// MarshalText writes 0755.
func (o octal) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "0%03o", uint64(o)), nil }

// settings compares kernel settings; false where other lines differ.
func (d *differ) settings(before, after string) bool {
	was, wasRest := settingsIn(before)
	is, isRest := settingsIn(after)
	if wasRest != isRest {
		return false
	}
	d.named("sysctl", was, is)
	return true
}

// settingsIn returns the settings in a file, and its other lines that are not empty.
func settingsIn(text string) (tree, string) {
	settings, rest := tree{}, ""
	for line := range strings.SplitSeq(text, "\n") {
		name, value, found := strings.Cut(line, "=")
		name = strings.TrimPrefix(strings.TrimSpace(name), "-")
		switch {
		case strings.TrimSpace(line) == "":
		case !found || strings.HasPrefix(name, "#") || strings.HasPrefix(name, ";"):
			rest += line + "\n"
		default:
			settings[name] = strings.TrimSpace(value)
		}
	}
	return settings, rest
}

// configuration compares the kubelet's configuration; false where it cannot be read.
func (d *differ) configuration(before, after string) bool {
	was, ok := yamlTree(before)
	is, isOk := yamlTree(after)
	if !ok || !isOk {
		return false
	}
	d.kubelet(func() {
		d.gates(treeAt(was, "featureGates"), treeAt(is, "featureGates"))
		was, is := but(was, "featureGates"), but(is, "featureGates")
		for field, now := range is {
			if !equal(was[field], now) {
				is[field] = changedMembers(was[field], now)
			}
		}
		d.named("configuration", was, is)
	})
	return true
}

// changedMembers returns the value to merge; removed members are null.
func changedMembers(before, after any) any {
	was, wasTree := before.(tree)
	is, isTree := after.(tree)
	if !wasTree || !isTree {
		return after
	}
	out := tree{}
	for _, key := range union(is, was) {
		switch now, has := is[key]; {
		case !has:
			out[key] = nil
		case !equal(was[key], now):
			out[key] = changedMembers(was[key], now)
		}
	}
	return out
}

// yamlTree reads a YAML document that the engine can edit; false for another text.
func yamlTree(text string) (tree, bool) {
	if text == "" || !utf8.ValidString(text) {
		return nil, false
	}
	parsed, err := yamledit.Parse([]byte(text))
	if err != nil {
		return nil, false
	}
	value, _ := parsed.Get()
	members, ok := value.(tree)
	if !ok || len(members) == 0 {
		return nil, false
	}
	// As JSON, so that numbers are as in an object.
	read, err := decodeTree(rawOf(members))
	return read, err == nil
}
