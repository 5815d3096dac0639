// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/comparison"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// refuseUnknown refuses the expectation of null for a name that does not exist, which would always hold.
func (c *compiler) refuseUnknown(node source.Node, field, name string, unknown func(c *compiler, name string) string) {
	if c.target != nil {
		c.refuseNull(node, field, name, unknown(c, name))
	}
}

// refuseNull refuses an expectation at the key under which it is written, unless the message is empty.
func (c *compiler) refuseNull(node source.Node, field, name, message string) {
	if message == "" {
		return
	}
	if key := c.at.Naming(node, name); key.Node != nil {
		node = key
	}
	c.refuse(node, field, "%s", message)
}

// component returns the component with the flags and gates of the container, or false if none has known ones.
func (c *compiler) component() (string, bool) {
	return c.target.Component, c.container == c.target.Container && slices.Contains(kubeflags.Components(), c.target.Component)
}

// unknownFlag returns a message about a flag that no version of the component has and the profile does not set.
func (c *compiler) unknownFlag(name string) string {
	component, ok := c.component()
	_, known := kubeflags.Flag(component, name)
	_, former := kubeflags.Former(component, name)
	if !ok || known || former || c.profile.mentions(name) {
		return ""
	}
	return fmt.Sprintf("%s has no flag --%s%s", component, name, source.Suggest(name, ofVersions(component, kubeflags.Flags)))
}

func (c *compiler) unknownGate(name string) string {
	component, ok := c.component()
	if _, known := kubeflags.Gate(component, name); !ok || known || c.profile.mentions(name) {
		return ""
	}
	return fmt.Sprintf("%s has no feature gate %s%s", component, name, source.Suggest(name, ofVersions(component, kubeflags.Gates)))
}

// ofVersions returns the names that any version of Kubernetes has.
func ofVersions(of string, names func(string, kubeflags.Minor) []string) []string {
	var all []string
	for _, version := range kubeflags.Versions() {
		all = append(all, names(of, version)...)
	}
	return all
}

func (c *compiler) unknownVariable(name string) string {
	var known []string
	all, _, _ := reach(c.objects(), pathOf("spec.template.spec.containers[0].env[0].name"))
	for _, one := range all {
		text, _ := one.(string)
		known = append(known, text)
	}
	if slices.Contains(known, name) || c.profile.mentions(name) {
		return ""
	}
	return fmt.Sprintf("neither Gardener nor the profile sets an environment variable %q%s", name, source.Suggest(name, known))
}

func (c *compiler) unknownConfiguration(name string) string {
	field, _, _ := strings.Cut(name, ".")
	known := ofVersions("", kubeflags.Fields)
	if slices.Contains(known, field) {
		return ""
	}
	return fmt.Sprintf("the kubelet's configuration has no field %q%s", field, source.Suggest(field, known))
}

func (c *compiler) unknownField(name string) string { return c.noField(c.objects(), pathOf(name)) }

// noField returns a message if none of the objects has the field and the profile does not write it.
func (c *compiler) noField(objects []any, path fieldpath.Path) string {
	_, rest, known := reach(objects, path)
	first := len(rest) == len(path)
	if len(objects) == 0 || len(rest) == 0 || !first && c.profile.mentions(path[len(path)-1].Key) {
		return ""
	}
	slices.Sort(known)
	hint := source.Suggest(rest[0].Key, slices.Compact(known))
	if spec, _ := comparison.Follow(objects[0], pathOf("spec").With(rest[0].Key)); first && spec != nil {
		hint = fmt.Sprintf(" (did you mean %q?)", "spec."+path.String())
	}
	return fmt.Sprintf("neither Gardener nor the profile writes the field %s%s", path, hint)
}

// unknownOption refuses a section or an option that no unit of Gardener or the profile has.
func (t text) unknownOption(node source.Node, section, option string, units []any) {
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
	field, message := t.field+".sections."+section, "neither Gardener nor the profile writes %s %q%s"
	switch {
	case !slices.Contains(sections, section) && !t.profile.mentions(section):
		t.refuseNull(node, field, section, fmt.Sprintf(message, "a section", section, source.Suggest(section, sections)))
	case !slices.Contains(options, option) && !t.profile.mentions(option):
		t.refuseNull(node, field+"."+option, option, fmt.Sprintf(message, "an option", option, source.Suggest(option, options)))
	}
}

// reach follows a path in values, through all items of their lists. The rest of the path is the part that no value has,
// and known are the names in its place.
func reach(values []any, path fieldpath.Path) (found []any, rest fieldpath.Path, known []string) {
	for i, step := range path {
		var below []any
		known = nil
		for _, value := range values {
			switch value := value.(type) {
			case map[string]any:
				known = slices.AppendSeq(known, maps.Keys(value))
				if member, ok := value[step.Key]; ok && step.By == "" {
					below = append(below, member)
				}
			case []any:
				if step.By != "" || step.Position {
					below = append(below, value...)
				}
			}
		}
		if len(below) == 0 {
			return nil, path[i:], known
		}
		values = below
	}
	return values, nil, nil
}

// objects returns the objects of the target in the control planes that Gardener writes.
func (c *compiler) objects() []any {
	var all []any
	for _, plane := range static.Planes() {
		for _, raw := range plane.Objects {
			var decoded any
			o, err := manifest.New(raw, source.Position{})
			if err == nil && c.isOfTarget(o, plane.Garden) && json.Unmarshal(raw, &decoded) == nil {
				all = append(all, decoded)
			}
		}
	}
	return all
}

// written returns the units or files of a name that Gardener writes; all where none has the name.
func (c *compiler) written(list, name string) []any {
	all, _, _ := reach(c.objects(), pathOf("spec."+list+"[0]"))
	var named []any
	for _, item := range all {
		if m, _ := item.(map[string]any); m["name"] == name || m["path"] == name {
			named = append(named, item)
		}
	}
	if len(named) > 0 {
		return named
	}
	return all
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
