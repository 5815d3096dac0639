// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
)

// nulls refuses expectations of null for names that do not exist, which would always hold: flags, gates and fields of the kubelet's
// configuration that no version of Kubernetes has, and fields, environment variables and options of units that neither Gardener nor
// the profile writes.
func nulls(c *compiler, at string) {
	if c.target == nil {
		return
	}
	if c.expected.Container == "" || c.expected.Container == c.target.Container {
		c.nullFlags(at)
	}
	for name, node := range c.expected.Env {
		if known := c.environment(); node.Absent() && !slices.Contains(known, name) && !c.profile.mentions(name) {
			c.refuseNull(node, name, fieldName(at, "env", name), "neither Gardener nor the profile sets an environment variable %q%s", name, source.Suggest(name, known))
		}
	}
	for text, node := range c.expected.Fields {
		if parsed, err := fieldpath.Parse(text); err == nil && node.Absent() {
			c.nullField(node, fieldName(at, "fields", text), parsed, c.objects())
		}
	}
	for text, node := range c.expected.Configuration {
		field, _, _ := strings.Cut(text, ".")
		if known := kubeletFields(); node.Absent() && !slices.Contains(known, field) {
			c.refuseNull(node, text, fieldName(at, "configuration", text), "the kubelet's configuration has no field %q%s", field, source.Suggest(field, known))
		}
	}
	c.nullTexts(at, "units", c.expected.Units)
	c.nullTexts(at, "files", c.expected.Files)
}

// refuseNull refuses an expectation at the key under which it is written.
func (c *compiler) refuseNull(node source.Node, name, field, format string, arguments ...any) {
	if key := c.at.Naming(node, name); key.Node != nil {
		node = key
	}
	c.refuse(node, field, format, arguments...)
}

// nullFlags checks the flags and feature gates of the target's component.
func (c *compiler) nullFlags(at string) {
	component := c.target.Component
	if !slices.Contains(kubeflags.Components(), component) {
		return
	}
	for name, node := range c.expected.Flags {
		if node.Absent() {
			c.knownFlag(node, fieldName(at, "flags", name), name)
		}
	}
	for field, entries := range map[string]map[string]source.Node{"mapFlags": c.expected.MapFlags, "listFlags": c.expected.ListFlags} {
		for name, node := range entries {
			if len(node.Fields()) > 0 {
				c.knownFlag(node, fieldName(at, field, name), name)
			}
		}
	}
	for name, node := range c.expected.FeatureGates {
		if _, known := kubeflags.Gate(component, name); node.Absent() && !known && !c.profile.mentions(name) {
			c.refuseNull(node, name, fieldName(at, "featureGates", name), "%s has no feature gate %s%s", component, name,
				source.Suggest(name, ofVersions(component, kubeflags.Gates)))
		}
	}
}

// knownFlag refuses a flag that no version of the component has and the profile does not set.
func (c *compiler) knownFlag(node source.Node, at, name string) {
	component := c.target.Component
	_, known := kubeflags.Flag(component, name)
	_, former := kubeflags.Former(component, name)
	if !known && !former && !c.profile.mentions(name) {
		c.refuseNull(node, name, at, "%s has no flag --%s%s", component, name, source.Suggest(name, ofVersions(component, kubeflags.Flags)))
	}
}

// ofVersions returns the names that any version of Kubernetes has.
func ofVersions(of string, names func(string, kubeflags.Minor) []string) []string {
	var all []string
	for _, version := range kubeflags.Versions() {
		all = append(all, names(of, version)...)
	}
	return all
}

// kubeletFields returns the top fields of the kubelet's configuration in any version.
func kubeletFields() []string { return ofVersions("", kubeflags.Fields) }

// nullTexts checks relative paths of files, and the fields and options of units and files.
func (c *compiler) nullTexts(at, field string, wanted map[string]v1alpha1.TestText) {
	for name, want := range wanted {
		where := fieldName(at, field, name)
		if field == "files" && !path.IsAbs(name) {
			c.refuseNull(want.At, name, where, "the path of a file is absolute%s", fmt.Sprintf(" (did you mean %q?)", "/"+name))
			continue
		}
		items := c.items(field, name)
		for text, node := range want.Fields {
			if parsed, err := fieldpath.Parse(text); err == nil && node.Absent() {
				c.nullField(node, where+".fields."+text, parsed, items)
			}
		}
		for section, options := range want.Sections {
			for option, node := range options {
				if node.Absent() {
					c.nullOption(node, where+".sections."+section, section, option, items)
				}
			}
		}
	}
}

// nullOption checks that some unit of Gardener or the profile has the section and the option.
func (c *compiler) nullOption(node source.Node, at, section, option string, units []any) {
	sections, options := []string{"Unit", "Service", "Install"}, []string{}
	for _, unit := range units {
		content, _ := unit.(map[string]any)["content"].(string)
		for line := range strings.Lines(content) {
			line = strings.TrimSpace(line)
			if name, ok := strings.CutPrefix(line, "["); ok {
				sections = append(sections, strings.TrimSuffix(name, "]"))
			} else if name, _, ok := strings.Cut(line, "="); ok {
				options = append(options, strings.TrimSpace(name))
			}
		}
	}
	switch {
	case !slices.Contains(sections, section) && !c.profile.mentions(section):
		c.refuseNull(node, section, at, "neither Gardener nor the profile writes a section %q%s", section, source.Suggest(section, sections))
	case !slices.Contains(options, option) && !c.profile.mentions(option):
		c.refuseNull(node, option, at+"."+option, "neither Gardener nor the profile writes an option %q%s", option, source.Suggest(option, options))
	}
}

// nullField checks that one of the objects has the field, or that the profile writes it.
func (c *compiler) nullField(node source.Node, at string, path fieldpath.Path, objects []any) {
	if len(objects) == 0 {
		return
	}
	values := objects
	for i, step := range path {
		var below []any
		var known []string
		for _, value := range values {
			switch value := value.(type) {
			case map[string]any:
				known = append(known, slices.Collect(maps.Keys(value))...)
				if member, ok := value[step.Key]; ok && step.By == "" {
					below = append(below, member)
				}
			case []any:
				if step.By != "" || step.Position {
					below = append(below, value...)
				}
			}
		}
		if len(below) > 0 {
			values = below
			continue
		}
		if i == 0 || !c.profile.mentions(path[len(path)-1].Key) {
			slices.Sort(known)
			hint := source.Suggest(step.Key, slices.Compact(known))
			spec, _ := objects[0].(map[string]any)["spec"].(map[string]any)
			if _, relative := spec[step.Key]; i == 0 && relative {
				hint = fmt.Sprintf(" (did you mean %q?)", "spec."+path.String())
			}
			c.refuseNull(node, path.String(), at, "neither Gardener nor the profile writes the field %s%s", path, hint)
		}
		return
	}
}

// objects returns the objects of the target in the control planes that Gardener writes.
func (c *compiler) objects() []any {
	var all []any
	for _, plane := range static.Planes() {
		for _, raw := range plane.Objects {
			var object map[string]any
			if json.Unmarshal(raw, &object) == nil && isOf(c.target, plane.Garden, object) {
				all = append(all, object)
			}
		}
	}
	return all
}

// isOf reports whether an object is one of the target.
func isOf(t *target.Target, garden bool, object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group = ""
	}
	return t.Garden == garden && slices.ContainsFunc(t.Forms, func(f target.Form) bool { return f.Is(group, kind, name) })
}

// items returns the units or files of a name that Gardener writes; all where none has the name.
func (c *compiler) items(list, name string) []any {
	var named, all []any
	for _, object := range c.objects() {
		spec, _ := object.(map[string]any)["spec"].(map[string]any)
		for _, item := range itemsOf(spec[list]) {
			all = append(all, item)
			if item["name"] == name || item["path"] == name {
				named = append(named, item)
			}
		}
	}
	if len(named) > 0 {
		return named
	}
	return all
}

// environment returns the names of the environment variables that Gardener sets in the target.
func (c *compiler) environment() []string {
	var names []string
	for _, object := range c.objects() {
		spec, _ := object.(map[string]any)["spec"].(map[string]any)
		template, _ := spec["template"].(map[string]any)
		pods, _ := template["spec"].(map[string]any)
		for _, container := range itemsOf(pods["containers"]) {
			for _, variable := range itemsOf(container["env"]) {
				name, _ := variable["name"].(string)
				names = append(names, name)
			}
		}
	}
	return names
}

// profileText is the text of the profiles under test.
type profileText string

// readProfiles reads the profiles under test. Unreadable ones are reported when they are loaded.
func readProfiles(paths []string) profileText {
	var text strings.Builder
	for _, path := range paths {
		if data, err := golden.Read(path); err == nil {
			text.Write(data)
		}
	}
	return profileText(text.String())
}

// mentions reports whether a name occurs in the profiles as a word.
func (p profileText) mentions(name string) bool {
	for rest := string(p); ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		end := i + len(name)
		if (i == 0 || !isWord(rest[i-1])) && (end == len(rest) || !isWord(rest[end])) {
			return true
		}
		rest = rest[end:]
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
