// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// DecodeControllerConfiguration reads the one configuration of a file, sets the defaults and validates. A file without any
// bytes is the configuration of defaults. The error, if any, is source.Findings.
func DecodeControllerConfiguration(file source.File) (*ControllerConfiguration, error) {
	nodes, findings := source.Parse(file)
	if len(findings) > 0 {
		return nil, findings.Err()
	}
	configuration := &ControllerConfiguration{}
	var node source.Node
	switch len(nodes) {
	case 0:
		configuration.Default()
		return configuration, nil
	case 1:
		node = nodes[0]
	default:
		return nil, source.Findings{nodes[1].Finding("", "a second document: there must be one %s", KindControllerConfiguration).Of(source.NoDocument)}
	}
	if findings := checkHead(node); len(findings) > 0 {
		return nil, findings.Err()
	}
	findings = source.Decode(node, "", configuration)
	if len(findings) == 0 {
		findings = configuration.validate(node)
	}
	if err := findings.Err(); err != nil {
		return nil, err
	}
	configuration.Default()
	return configuration, nil
}

func checkHead(node source.Node) source.Findings {
	for _, want := range []struct{ field, value string }{
		{"apiVersion", GroupVersion.String()},
		{"kind", KindControllerConfiguration},
	} {
		value := find(node, want.field)
		if value.Absent() {
			return source.Findings{node.Finding(want.field, "is missing: must be %s", want.value).Of(source.UnknownKind)}
		}
		if value.Value != want.value {
			return source.Findings{value.Finding(want.field, "unknown %s %q: must be %s", want.field, value.Value, want.value).Of(source.UnknownKind)}
		}
	}
	return nil
}

// find is the value at the keys, or the zero Node.
func find(n source.Node, keys ...string) source.Node {
	for _, key := range keys {
		next := source.Node{File: n.File}
		for _, field := range n.Fields() {
			if field.Key.Value == key {
				next = field.Value
			}
		}
		n = next
	}
	return n
}
