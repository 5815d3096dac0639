// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
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
	was, is, ok := itemsOf(before, after, "name")
	for _, name := range keys(was, is) {
		switch old, now := find[tree](was, name), find[tree](is, name); {
		case now == nil:
			d.remove("fields", nil, itemOf(list, "name", name).String())
		case name == target.KubeletUnit:
			d.kubelet(func() { d.unit(nil, old, now) })
		default:
			d.unit([]argument{{"name", name}}, old, now)
		}
	}
	return ok
}

// unit compares the fields of one unit. The engine refuses fields that the operation unit does not have.
func (d *differ) unit(fixed []argument, before, after tree) {
	for _, field := range keys(before, after) {
		was, is, ok := itemsOf(before[field], after[field], "name")
		switch {
		case equal(before[field], after[field]):
		case field == "content" && fixed == nil && d.options(find[string](before, field), find[string](after, field)):
		case field == "dropIns" && ok:
			for _, name := range keys(was, is) {
				if !equal(was[name], is[name]) {
					d.add("unit", fixed, at(is, name, "content"), "dropIns", name) // null removes
				}
			}
		default:
			d.add("unit", fixed, after[field], field)
		}
	}
}

// options compares the kubelet's unit by flags and options; false where one of the texts cannot be read.
func (d *differ) options(before, after string) bool {
	was, err := systemd.Parse(before)
	is, errIs := systemd.Parse(after)
	if err != nil || errIs != nil {
		return false
	}
	old, err := was.Command("Service", "ExecStart")
	now, errNow := is.Command("Service", "ExecStart")
	sameProgram := err == nil && errNow == nil && slices.Equal(old.Program(), now.Program())
	if sameProgram {
		d.flags(nil, &old.FlagList, &now.FlagList)
	}
	for _, section := range union(was.Sections(), is.Sections()) {
		in := []argument{{"section", section}}
		for _, option := range union(was.Options(section), is.Options(section)) {
			switch old, now := was.Values(section, option), is.Values(section, option); {
			case slices.Equal(old, now), sameProgram && option == "ExecStart":
			case len(now) == 0:
				d.remove("unit", in, option)
			case len(now) > len(old) && slices.Equal(now[:len(old)], old):
				d.add("unit", in, oneOrMore(now[len(old):]), "add", option)
			default:
				d.add("unit", in, oneOrMore(now), "set", option)
			}
		}
	}
	return true
}

// files compares the files of a node by their paths.
func (d *differ) files(_ fieldpath.Path, before, after any) bool {
	was, is, ok := itemsOf(before, after, "path")
	for _, path := range keys(was, is) {
		old, now := fileArguments(find[tree](was, path)), fileArguments(find[tree](is, path))
		switch fixed := []argument{{"path", path}}; {
		case is[path] == nil:
			d.add("file", fixed, tree{"remove": true})
		case equal(old, now):
		case path == target.KubeletConfigurationPath && equal(but(old, "content", "encoding"), but(now, "content", "encoding")) &&
			d.configuration(find[string](old, "content"), find[string](now, "content")):
		default:
			d.add("file", fixed, now)
		}
	}
	return ok
}

// fileArguments returns the arguments of the operation file for a whole file. The engine refuses content that is no text.
func fileArguments(file tree) tree {
	out := but(file, "content")
	maps.Copy(out, find[tree](file, "content"))
	if mode, ok := file["permissions"].(int64); ok {
		out["permissions"] = fmt.Sprintf("%04o", mode)
	}
	parsed, err := document.Parse(rawOf(out["inline"]))
	if err != nil {
		return out
	}
	if content, err := document.ContentOf(parsed.Root()); err == nil && utf8.Valid(content.Text()) {
		out["content"] = string(content.Text())
		if encoding := find[string](out, "inline", "encoding"); encoding != "" {
			out["encoding"] = encoding
		}
		delete(out, "inline")
	}
	return out
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
			d.gates(find[tree](was), find[tree](is))
			return true
		},
		set: func(p fieldpath.Path, value any) {
			d.add("configuration", nil, value, append([]string{"set"}, p.Keys()...)...)
		},
		remove: func(p fieldpath.Path) {
			if len(p) == 1 {
				d.remove("configuration", nil, p[0].Key)
				return
			}
			d.add("configuration", nil, nil, append([]string{"set"}, p.Keys()...)...)
		},
	}
	d.kubelet(func() { c.compare(nil, was, is) })
	return true
}

// yamlTree reads a YAML document; false for another text.
func yamlTree(text string) (tree, bool) {
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, false
	}
	read, err := decodeTree(raw)
	return read, err == nil && len(read) > 0
}
