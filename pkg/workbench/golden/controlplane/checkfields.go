// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/comparison"
)

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
			value, there := valueOf(follow(o.Document.Root(), at))
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
