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

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/comparison"
)

// commandLine reports whether the objects have flags; container is the container with the flags.
func (c *compiler) commandLine(field string, some source.Node) (container string, ok bool) {
	container = c.expected.Container
	if c.target != nil && !c.target.Has(target.CommandLine) {
		c.refuse(some, field, "%s has no command line", c.title)
		return "", false
	}
	if container == "" && c.target != nil {
		container = c.target.Container
	}
	if container == "" {
		c.refuse(some, field, "name the container in the field container")
		return "", false
	}
	return container, true
}

// nearFlag returns texts in the lines of a flag.
func (c *compiler) nearFlag(container, flag string) []string {
	if c.target != nil && c.target.Purposed {
		return []string{"--" + flag}
	}
	return []string{"[" + container + "]", "--" + flag}
}

// first returns one of the values, as the position of a finding about all of them.
func first(values map[string]source.Node) source.Node {
	return values[sortedKeys(values)[0]]
}

// flags compiles assertions about whole values of flags.
func flags(c *compiler, path string) {
	if len(c.expected.Flags) == 0 {
		return
	}
	container, ok := c.commandLine(path+".flags", first(c.expected.Flags))
	if !ok {
		return
	}
	for name, node := range c.expected.Flags {
		want, ok := c.flagValues(fieldName(path, "flags", name), node)
		if !ok {
			continue
		}
		c.add(assertion{at: node, field: "flags." + name, about: name, near: c.nearFlag(container, name), look: func(o *subject) ([]comparison.Mismatch, error) {
			line, err := o.CommandLine(container)
			if err != nil {
				return nil, err
			}
			got := line.Values(name)
			if slices.Equal(want, got) {
				return nil, nil
			}
			return []comparison.Mismatch{{Want: flagText(want), Got: flagText(got)}}, nil
		}})
	}
}

// flagValues returns the expected values of a flag; none for null.
func (c *compiler) flagValues(field string, node source.Node) ([]string, bool) {
	switch {
	case node.Absent():
		return nil, true
	case node.Kind == yaml.ScalarNode:
		return []string{node.Value}, true
	case node.Kind == yaml.SequenceNode && len(node.Content) > 0:
		var values []string
		for _, item := range node.Items() {
			if item.Kind != yaml.ScalarNode {
				break
			}
			values = append(values, item.Value)
		}
		if len(values) == len(node.Content) {
			return values, true
		}
	}
	c.refuse(node, field, "must be text, a list of texts for a flag that is repeated, or null for one that is not there")
	return nil, false
}

func flagText(values []string) string {
	switch {
	case len(values) == 0:
		return comparison.Absent
	case len(values) == 1 && values[0] == "":
		return "without a value"
	}
	return strings.Join(values, "\n")
}

// mapFlags compiles assertions about entries of flags such as --runtime-config.
func mapFlags(c *compiler, path string) {
	eachEntry(c, path, "mapFlags", c.expected.MapFlags, mapEntry)
}

func mapEntry(values []string, key string) (string, bool) {
	return commandline.MapValue(strings.Join(values, ",")).Get(key)
}

// listFlags compiles assertions about items of flags such as --enable-admission-plugins.
func listFlags(c *compiler, path string) {
	eachEntry(c, path, "listFlags", c.expected.ListFlags, func(values []string, item string) (string, bool) {
		return map[bool]string{true: "true", false: "false"}[commandline.ListValue(strings.Join(values, ",")).Has(item)], true
	})
}

// eachEntry compares entries of flags, by flag.
func eachEntry(c *compiler, path, field string, written map[string]source.Node, entry func(values []string, key string) (string, bool)) {
	if len(written) == 0 {
		return
	}
	container, ok := c.commandLine(path+"."+field, first(written))
	if !ok {
		return
	}
	for flag, entries := range written {
		if entries.Absent() || entries.Kind != yaml.MappingNode {
			c.refuse(entries, fieldName(path, field, flag), "must be a mapping of its entries")
			continue
		}
		for _, f := range entries.Fields() {
			c.entry(path, container, flag, field+"."+flag+"."+f.Key.Value, f, entry)
		}
	}
}

func (c *compiler) entry(path, container, flag, field string, f source.Field, entry func(values []string, key string) (string, bool)) {
	key, want := f.Key.Value, any(nil)
	if !f.Value.Absent() {
		if f.Value.Kind != yaml.ScalarNode {
			c.refuse(f.Value, path+"."+field, "must be text, or null for an entry that is not there")
			return
		}
		want = f.Value.Value
	}
	c.add(assertion{at: f.Value, field: field, about: key, near: c.nearFlag(container, flag), look: lookAt(want, func(o *subject) (any, bool, error) {
		line, err := o.CommandLine(container)
		if err != nil {
			return nil, false, err
		}
		got, there := entry(line.Values(flag), key)
		return got, there, nil
	})})
}

// featureGates compiles assertions about feature gates in the flag or in the kubelet's configuration.
func featureGates(c *compiler, path string) {
	if len(c.expected.FeatureGates) == 0 {
		return
	}
	kubelet := c.target != nil && c.target.Has(target.KubeletConfiguration)
	container, ok := "", true
	if !kubelet {
		container, ok = c.commandLine(path+".featureGates", first(c.expected.FeatureGates))
	}
	for name, node := range c.expected.FeatureGates {
		field := source.Field{Key: node, Value: node}
		switch {
		case !ok:
		case kubelet:
			c.add(assertion{at: node, field: "featureGates." + name, about: name, near: []string{name}, look: lookFor(node, func(o *subject) (any, bool, error) {
				value, err := o.kubeletConfiguration()
				gates, _ := value["featureGates"].(map[string]any)
				got, there := gates[name]
				return got, there, err
			})})
		default:
			field.Key = source.Node{Node: &yaml.Node{Kind: yaml.ScalarNode, Value: name}, File: node.File}
			c.entry(path, container, "feature-gates", "featureGates."+name, field, mapEntry)
		}
	}
}

// env compiles assertions about environment variables: their values, or fields.
func env(c *compiler, _ string) {
	if len(c.expected.Env) == 0 {
		return
	}
	container := c.expected.Container
	if container == "" && c.target != nil {
		container = c.target.Container
	}
	for name, node := range c.expected.Env {
		want := comparison.Plain(node)
		if _, isMapping := want.(map[string]any); !isMapping && want != nil {
			want = map[string]any{"value": node.Value}
		}
		c.add(assertion{at: node, field: "env." + name, about: name, near: []string{"[" + container + "]", name}, look: lookAt(want, func(o *subject) (any, bool, error) {
			found, err := o.Container(container)
			if err != nil {
				return nil, false, err
			}
			value, there := valueOf(found.Get("env").ItemWith("name", name))
			return value, there, nil
		})})
	}
}

// metadata compiles assertions about labels and annotations of the object and of its pods.
func metadata(c *compiler, path string) {
	for _, of := range []struct {
		field  string
		wanted map[string]source.Node
		in     []string
	}{
		{"labels", c.expected.Labels, []string{"metadata", "labels"}},
		{"annotations", c.expected.Annotations, []string{"metadata", "annotations"}},
		{"podLabels", c.expected.PodLabels, []string{"spec", "template", "metadata", "labels"}},
		{"podAnnotations", c.expected.PodAnnotations, []string{"spec", "template", "metadata", "annotations"}},
	} {
		for key, node := range of.wanted {
			var want any
			if !node.Absent() {
				if want = node.Value; node.Kind != yaml.ScalarNode {
					c.refuse(node, fieldName(path, of.field, key), "must be text, or null for a missing value")
					continue
				}
			}
			c.add(assertion{at: node, field: of.field + "." + key, about: key, near: []string{key}, look: lookAt(want, func(o *subject) (any, bool, error) {
				value, there := valueOf(o.Document.Root().Find(of.in...).Get(key))
				return value, there, nil
			})})
		}
	}
}

// containers compiles assertions about containers and init containers by name.
func containers(c *compiler, _ string) {
	for name, node := range c.expected.Containers {
		c.add(assertion{at: node, field: "containers." + name, about: name, near: []string{"ontainers", name}, look: lookFor(node, func(o *subject) (any, bool, error) {
			for _, list := range []string{"containers", "initContainers"} {
				if value, there := valueOf(o.PodSpec().Get(list).ItemWith("name", name)); there {
					return value, true, nil
				}
			}
			return nil, false, nil
		})})
	}
}

// volumes compiles assertions about volumes of the pod template by name.
func volumes(c *compiler, _ string) {
	for name, node := range c.expected.Volumes {
		c.add(assertion{at: node, field: "volumes." + name, about: name, near: []string{"volumes", name}, look: lookFor(node, func(o *subject) (any, bool, error) {
			value, there := valueOf(o.PodSpec().Get("volumes").ItemWith("name", name))
			return value, there, nil
		})})
	}
}

// fields compiles assertions about any fields by their paths.
func fields(c *compiler, path string) {
	for text, node := range c.expected.Fields {
		at, ok := c.path(fieldName(path, "fields", text), text, node)
		if !ok {
			continue
		}
		last := at[len(at)-1].Key
		c.add(assertion{at: node, field: "fields." + text, about: last, near: []string{last}, look: lookFor(node, func(o *subject) (any, bool, error) {
			value, there := comparison.Follow(o.value(), at)
			return value, there, nil
		})})
	}
}

func (c *compiler) path(field, text string, at source.Node) (fieldpath.Path, bool) {
	path, err := fieldpath.Parse(text)
	if err != nil {
		c.refuse(at, field, "the path %s", err)
		return nil, false
	}
	return path, true
}

// configuration compiles assertions about fields of the kubelet's configuration.
func configuration(c *compiler, path string) {
	for text, node := range c.expected.Configuration {
		field := fieldName(path, "configuration", text)
		if c.target == nil || !c.target.Has(target.KubeletConfiguration) {
			c.refuse(node, field, "%s has no configuration of a kubelet; kubelet has", c.title)
			return
		}
		at, ok := c.path(field, text, node)
		if !ok {
			continue
		}
		last := at[len(at)-1].Key
		c.add(assertion{at: node, field: "configuration." + text, about: at[0].Key, near: []string{last}, look: lookFor(node, func(o *subject) (any, bool, error) {
			whole, err := o.kubeletConfiguration()
			value, there := comparison.Follow(whole, at)
			return value, there, err
		})})
	}
}

// units compiles assertions about systemd units of a node.
func units(c *compiler, path string) {
	c.eachText(path, "units", c.expected.Units, func(o *subject, name string) (*document.Node, string, error) {
		unit := o.Document.Root().Find("spec", "units").ItemWith("name", name)
		text, _ := unit.Get("content").Text()
		return unit, text, nil
	})
}

// files compiles assertions about files of a node.
func files(c *compiler, path string) {
	c.eachText(path, "files", c.expected.Files, func(o *subject, name string) (*document.Node, string, error) {
		file := o.File(name)
		if file.Find("content", "inline") == nil {
			return file, "", nil
		}
		content, err := o.Content(name)
		if err != nil {
			return nil, "", err
		}
		return file, string(content.Text()), nil
	})
}

// eachText compares units or files; find gives the item and its text.
func (c *compiler) eachText(
	path, field string, wanted map[string]v1alpha1.TestText, find func(o *subject, name string) (*document.Node, string, error),
) {
	for name, want := range wanted {
		if c.target == nil || !c.target.Has(target.Units) {
			c.refuse(want.At, fieldName(path, field, name), "%s has no %s; kubelet and node have", c.title, field)
			continue
		}
		if field == "files" && want.Sections != nil {
			c.refuse(want.At, fieldName(path, field, name), "sections are those of units")
		}
		t := textChecks{at: want.At, field: field + "." + name, name: name, find: find}
		switch {
		case want.At.Absent():
			c.add(t.assertion(t.at, "", func(item *document.Node, _ string) []comparison.Mismatch {
				value, there := valueOf(item)
				return comparison.Differences("", nil, value, there)
			}))
		default:
			c.add(t.assertion(t.at, "", nil))
			c.texts(t, want)
		}
	}
}

// textChecks make the assertions about a unit or a file.
type textChecks struct {
	at    source.Node
	field string
	name  string
	// word selects the lines that contain it; empty selects all lines of the item.
	word string
	find func(o *subject, name string) (*document.Node, string, error)
}

// assertion returns an assertion about the item and its text; without look, that the item exists.
func (t textChecks) assertion(at source.Node, below string, look func(item *document.Node, text string) []comparison.Mismatch) assertion {
	near := []string{t.name}
	if t.word != "" {
		near = append(near, t.word)
	}
	return assertion{at: at, field: t.field + below, about: t.name, near: near, look: func(o *subject) ([]comparison.Mismatch, error) {
		item, text, err := t.find(o, t.name)
		switch {
		case err != nil:
			return nil, err
		case look == nil && item == nil:
			return []comparison.Mismatch{{Want: "to be there", Got: comparison.Absent}}, nil
		case look == nil || item == nil && below != "":
			return nil, nil
		}
		return look(item, text), nil
	}}
}

func (c *compiler) texts(t textChecks, want v1alpha1.TestText) {
	for _, part := range want.Contains {
		c.add(t.assertion(part.At, ".contains", func(_ *document.Node, text string) []comparison.Mismatch {
			if strings.Contains(text, part.Value) {
				return nil
			}
			return []comparison.Mismatch{{Want: part.Value, Got: text}}
		}))
	}
	for _, part := range want.Lacks {
		c.add(t.assertion(part.At, ".lacks", func(_ *document.Node, text string) []comparison.Mismatch {
			if !strings.Contains(text, part.Value) {
				return nil
			}
			return []comparison.Mismatch{{Want: "no " + part.Value, Got: text}}
		}))
	}
	if want.Content.At.Node != nil {
		c.add(t.assertion(want.Content.At, ".content", func(_ *document.Node, text string) []comparison.Mismatch {
			return comparison.Differences("", want.Content.Value, text, true)
		}))
	}
	for text, node := range want.Fields {
		at, ok := c.path(t.field+".fields."+text, text, node)
		if !ok {
			continue
		}
		t.word = at[len(at)-1].Key
		c.add(t.assertion(node, ".fields."+text, func(item *document.Node, _ string) []comparison.Mismatch {
			whole, _ := valueOf(item)
			value, there := comparison.Follow(whole, at)
			return comparison.Differences("", comparison.Plain(node), value, there)
		}))
	}
	for section, options := range want.Sections {
		for option, node := range options {
			t.word = option
			c.add(t.assertion(node, fmt.Sprintf(".sections.%s.%s", section, option), func(_ *document.Node, text string) []comparison.Mismatch {
				return optionDifferences(section, option, comparison.Plain(node), text)
			}))
		}
	}
}

// optionDifferences compare an option of a unit: a list is all of its values, anything else is one of them, and null none.
func optionDifferences(section, option string, want any, text string) []comparison.Mismatch {
	unit, err := systemd.Parse(text)
	if err != nil {
		return []comparison.Mismatch{{Want: comparison.Shown(want), Got: err.Error()}}
	}
	values := unit.Values(section, option)
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
	}
	got := any(list)
	if one := fmt.Sprint(want); want != nil && slices.Contains(values, one) {
		return nil
	}
	if len(values) == 1 {
		if _, isList := want.([]any); !isList {
			got = values[0]
		}
	}
	return comparison.Differences("", want, got, len(values) > 0)
}

// valueOf returns the value of an object's node, or false if there is none.
func valueOf(n *document.Node) (any, bool) {
	if n == nil || n.Kind() == document.Invalid {
		return nil, false
	}
	var value any
	if json.Unmarshal(n.Raw(), &value) != nil {
		return nil, false
	}
	return value, true
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
