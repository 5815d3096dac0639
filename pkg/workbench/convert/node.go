// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/yamledit"
)

// kubelet runs a comparison for the target kubelet, which is a part of an OperatingSystemConfig.
func (d *differ) kubelet(compare func()) {
	node := d.owner
	d.owner, _ = target.Lookup("kubelet")
	compare()
	d.owner = node
}

// units compares the systemd units of a node.
func (d *differ) units(list fieldpath.Path, before, after any) bool {
	pairs, ok := pairsOf(before, after, "name")
	for _, i := range pairs {
		switch path := itemOf(list, "name", i.name); {
		case i.after == nil:
			d.remove("fields", nil, path.String())
		case i.name == target.KubeletUnit:
			d.kubelet(func() { d.unit(path, nil, i) })
		default:
			d.unit(path, []argument{{"name", i.name}}, i)
		}
	}
	return ok
}

// unit compares one unit. Fields that the operation unit does not have remain for fields, which the engine refuses.
func (d *differ) unit(path fieldpath.Path, fixed []argument, i pair) {
	c := d.fields("fields")
	c.own = func(p fieldpath.Path, before, after any) bool {
		switch field := p[len(path):].String(); field {
		case "content":
			if after != nil && (before == nil || !d.options(fixed, textAt(before), textAt(after))) {
				d.add("unit", fixed, after, field)
			}
			return after != nil
		case "enable", "command":
			if after != nil {
				d.add("unit", fixed, after, field)
			}
			return after != nil
		case "dropIns":
			return d.dropIns(fixed, before, after)
		default:
			return field == "name"
		}
	}
	if i.before == nil {
		i.before = tree{}
	}
	c.compare(path, i.before, i.after)
}

// dropIns compares the drop-ins of a unit; null removes one.
func (d *differ) dropIns(fixed []argument, before, after any) bool {
	pairs, ok := pairsOf(before, after, "name")
	for _, i := range pairs {
		if !equal(i.before, i.after) {
			d.add("unit", fixed, i.after["content"], "dropIns", i.name)
		}
	}
	return ok
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
			d.flags(true, nil, &old.FlagList, &now.FlagList)
		}
	}
	for _, section := range union(was.Sections(), is.Sections()) {
		for _, option := range union(was.Options(section), is.Options(section)) {
			if fixed == nil && option == "ExecStart" {
				continue
			}
			in := append(slices.Clone(fixed), argument{"section", section})
			switch old, now := was.Values(section, option), is.Values(section, option); {
			case slices.Equal(old, now):
			case len(now) == 0:
				d.remove("unit", in, option)
			case len(now) > len(old) && slices.Equal(now[:len(old)], old) && (len(old) > 0 || strings.HasPrefix(option, "ExecStartP")):
				d.add("unit", in, oneOrMore(now[len(old):]), "add", option)
			default:
				d.add("unit", in, oneOrMore(now), "set", option)
			}
		}
	}
	return true
}

// files compares the files of a node by their paths.
func (d *differ) files(list fieldpath.Path, before, after any) bool {
	pairs, ok := pairsOf(before, after, "path")
	for _, i := range pairs {
		fixed := []argument{{"path", i.name}}
		switch {
		case i.after == nil:
			d.add("file", fixed, tree{"remove": true})
		case equal(i.before, i.after), d.fileText(i):
		default:
			if value := fileArguments(i.after); value != nil {
				d.add("file", fixed, value)
			} else {
				d.add("fields", nil, but(i.after, "path"), "set", itemOf(list, "path", i.name).String())
			}
		}
	}
	return ok
}

// fileText compares the text of a file by its content. It returns false if the whole file must be written.
func (d *differ) fileText(i pair) bool {
	was, isText := inlineOf(i.before)
	is, willBeText := inlineOf(i.after)
	same := func(path ...string) bool { return equal(at(i.before, path...), at(i.after, path...)) }
	if !isText || !willBeText || !same("permissions") || !same("content", "transmitUnencoded") {
		return false
	}
	switch i.name {
	case target.KernelSettingsPath:
		return d.settings(was, is)
	case target.KubeletConfigurationPath:
		return d.configuration(was, is)
	}
	return was == is || d.document(argument{"file", i.name}, i.name, was, is)
}

// inlineOf returns the text of a file's content; false where it has none that is UTF-8.
func inlineOf(file tree) (string, bool) {
	parsed, err := document.Parse(rawOf(at(file, "content", "inline")))
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
func fileArguments(file tree) tree {
	out := but(treeAt(file, "content"), "inline")
	if permissions, ok := file["permissions"]; ok {
		out["permissions"] = permissions
	}
	if inline := treeAt(file, "content", "inline"); inline != nil {
		text, isText := inlineOf(file)
		if !isText {
			return nil
		}
		if out["content"] = text; textAt(inline, "encoding") != "" {
			out["encoding"] = inline["encoding"]
		}
	}
	return out
}

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
	c := comparison{
		own: func(p fieldpath.Path, was, is any) bool {
			if p.String() != "featureGates" {
				return false
			}
			d.gates(treeAt(was), treeAt(is))
			return true
		},
		set: func(p fieldpath.Path, value any) {
			d.add("configuration", nil, value, append([]string{"set"}, p.Keys()...)...)
		},
		remove: func(p fieldpath.Path) {
			switch {
			case len(p) == 1:
				d.remove("configuration", nil, p[0].Key)
			case p[len(p)-1].By == "": // Lists are replaced.
				d.add("configuration", nil, nil, append([]string{"set"}, p.Keys()...)...)
			}
		},
	}
	d.kubelet(func() { c.compare(nil, was, is) })
	return true
}

// document compares the fields of a YAML or JSON document inside the object; false where one of the values is none.
func (d *differ) document(where argument, name string, before, after any) bool {
	was, ok := yamlTree(textAt(before))
	is, isOk := yamlTree(textAt(after))
	if !ok || !isOk {
		return false
	}
	fixed := []argument{where}
	if path.Ext(name) == ".json" {
		fixed = append(fixed, argument{"format", "json"})
	}
	d.fields("document", fixed...).compare(nil, was, is)
	return true
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
	// As JSON, so that numbers are as in an object.
	read, err := decodeTree(rawOf(value))
	return read, err == nil && len(read) > 0
}
