// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
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
		c.refuse(some, field, "say in container of which container")
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
