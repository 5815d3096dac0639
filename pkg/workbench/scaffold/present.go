// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// sampleText is the value of lookups in a first test.
const sampleText = "sample"

// present returns the objects, as JSON, that the lookups of a program need: one for each constant name, with sample
// values for all parts that are read. It omits optional objects.
func present(p *mutation.Program) []string {
	var (
		order   []string
		objects = map[string]map[string]any{}
	)
	for _, l := range p.Lookups() {
		if l.Optional || l.Computed || l.ObjectName == "" {
			continue
		}
		key := l.GroupVersionKind.String() + "/" + l.ObjectName
		if objects[key] == nil {
			order = append(order, key)
			objects[key] = map[string]any{
				"apiVersion": l.GroupVersion().String(), "kind": l.Kind, "metadata": map[string]any{"name": l.ObjectName},
			}
		}
		fillSample(objects[key], l)
	}
	all := make([]string, len(order))
	for i, key := range order {
		all[i] = flowOf(objects[key])
	}
	return all
}

// fillSample adds the parts that a lookup reads to an object.
func fillSample(object map[string]any, l facts.LookupRequest) {
	data := "data"
	if l.IsSecret() {
		data = "stringData"
	}
	for _, key := range l.Keys {
		setSample(object, data, key)
	}
	for _, key := range l.Labels {
		setSample(object, "metadata", "labels", key)
	}
	for _, key := range l.Annotations {
		setSample(object, "metadata", "annotations", key)
	}
	for _, path := range l.Fields {
		parsed, err := fieldpath.Parse(string(path))
		if err != nil || slices.ContainsFunc(parsed, func(s fieldpath.Step) bool { return s.By != "" || s.Position }) {
			continue
		}
		setSample(object, parsed.Keys()...)
	}
}

func setSample(object map[string]any, path ...string) {
	for _, key := range path[:len(path)-1] {
		below, ok := object[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			object[key] = below
		}
		object = below
	}
	object[path[len(path)-1]] = sampleText
}
