// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// refuseUnknown refuses a name that must be missing if it is not one of the known names and not in the profile: it may be
// misspelled, and the expectation would always hold.
func (c *compiler) refuseUnknown(key source.Node, field, name string, known []string, format string, arguments ...any) {
	if !slices.Contains(known, name) && !c.profile.mentions(name) {
		c.refuse(key, field, "%s%s", fmt.Sprintf(format, arguments...), source.Suggest(name, known))
	}
}

const writtenByNobody = "neither Gardener nor the profile writes %s"

// checkName refuses the unknown name of a missing value.
func (c *compiler) checkName(kind, field string, key source.Node) {
	if c.target == nil {
		return
	}
	name, component := key.Value, c.target.Component
	hasFlags := c.container == c.target.Container && slices.Contains(kubeflags.Components(), component)
	switch kind {
	case "flags", "mapFlags", "listFlags":
		if _, former := kubeflags.Former(component, name); hasFlags && !former {
			c.refuseUnknown(key, field, name, ofVersions(component, kubeflags.Flags), "%s has no flag --%s", component, name)
		}
	case "featureGates":
		if hasFlags {
			c.refuseUnknown(key, field, name, ofVersions(component, kubeflags.Gates), "%s has no feature gate %s", component, name)
		}
	case "env":
		var known []string
		names, _, _ := reach(c.samples(), pathOf("spec.template.spec.containers[0].env[0].name"))
		for _, one := range names {
			known = append(known, fmt.Sprint(one))
		}
		c.refuseUnknown(key, field, name, known, "neither Gardener nor the profile sets an environment variable %q", name)
	case "configuration":
		first, known := pathOf(name)[0].Key, ofVersions("", kubeflags.Fields)
		if !slices.Contains(known, first) {
			c.refuse(key, field, "the kubelet's configuration has no field %q%s", first, source.Suggest(first, known))
		}
	case "fields":
		c.checkField(key, field, c.samples(), pathOf(name))
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

// checkField refuses a missing field that none of the objects has and the profile does not write.
func (c *compiler) checkField(key source.Node, field string, objects []any, path fieldpath.Path) {
	_, rest, known := reach(objects, path)
	first := len(rest) == len(path)
	if len(objects) == 0 || len(rest) == 0 || !first && c.profile.mentions(path[len(path)-1].Key) {
		return
	}
	slices.Sort(known)
	hint := source.Suggest(rest[0].Key, slices.Compact(known))
	if first && golden.Follow(objects[0], pathOf("spec").With(rest[0].Key)) != nil {
		hint = fmt.Sprintf(" (did you mean %q?)", "spec."+path.String())
	}
	c.refuse(key, field, writtenByNobody+"%s", "the field "+path.String(), hint)
}

// checkOption refuses a missing option if no unit of Gardener or the profile has the section or the option.
func (c *compiler) checkOption(section, option source.Node, field string, units []any) {
	sections, options := []string{"Unit", "Service", "Install"}, []string{}
	for _, unit := range units {
		content, _ := golden.Follow(unit, pathOf("content")).(string)
		parsed, err := systemd.Parse(content)
		if err != nil {
			continue
		}
		for _, name := range parsed.Sections() {
			sections, options = append(sections, name), append(options, parsed.Options(name)...)
		}
	}
	before := len(c.findings)
	c.refuseUnknown(section, field+section.Value, section.Value, sections, writtenByNobody, fmt.Sprintf("a section %q", section.Value))
	if len(c.findings) == before {
		c.refuseUnknown(option, field+section.Value+"."+option.Value, option.Value, options, writtenByNobody, fmt.Sprintf("an option %q", option.Value))
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

// samples returns the objects of the target in the control planes that Gardener writes.
func (c *compiler) samples() []any {
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

// written returns the units or files that Gardener writes with the name in a path; all where none has it.
func (c *compiler) written(in fieldpath.Path) []any {
	var named []any
	objects := c.samples()
	for _, object := range objects {
		if item := golden.Follow(object, in); item != nil {
			named = append(named, item)
		}
	}
	if len(named) == 0 {
		named, _, _ = reach(objects, in)
	}
	return named
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
	return regexp.MustCompile(`(?:^|\W)` + regexp.QuoteMeta(name) + `(?:\W|$)`).MatchString(string(p))
}

func pathOf(text string) fieldpath.Path {
	path, _ := fieldpath.Parse(text) // all callers have valid paths
	return path
}
