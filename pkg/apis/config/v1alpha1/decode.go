// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// DecodeControllerConfiguration reads the configuration in a file, sets defaults and validates it. An empty
// file gives the defaults. Errors are source.Findings.
func DecodeControllerConfiguration(file source.File) (*ControllerConfiguration, error) {
	c := &ControllerConfiguration{}
	if err := decode(file, KindControllerConfiguration, c); err != nil {
		return nil, err
	}
	c.Default()
	return c, nil
}

// DecodeNetworkProviderConfiguration works like DecodeControllerConfiguration for graft-network-provider. It fails for
// an invalid document.
func DecodeNetworkProviderConfiguration(file source.File) (*NetworkProviderConfiguration, error) {
	c := &NetworkProviderConfiguration{}
	if err := decode(file, KindNetworkProviderConfiguration, c); err != nil {
		return nil, err
	}
	c.Default()
	return c, nil
}

// DecodeResourceInterpreterConfiguration works like DecodeControllerConfiguration for graft-resource-interpreter. It
// fails for an invalid document.
func DecodeResourceInterpreterConfiguration(file source.File) (*ResourceInterpreterConfiguration, error) {
	c := &ResourceInterpreterConfiguration{}
	if err := decode(file, KindResourceInterpreterConfiguration, c); err != nil {
		return nil, err
	}
	c.Default()
	return c, nil
}

// configuration is a configuration with its own validation in addition to the limits of its fields.
type configuration interface {
	validate(root source.Node) source.Findings
}

// decode reads the document of a file, if there is one. It fails for several documents.
func decode(file source.File, kind string, into configuration) error {
	nodes, known := source.Parse(file)
	switch len(nodes) {
	case 0:
		return known.Err()
	case 1:
	default:
		return append(known, nodes[1].Finding("", "a second document: there must be one %s", kind).Of(source.NoDocument)).Err()
	}
	findings := checkHead(nodes[0], kind)
	if len(findings) == 0 {
		findings = source.Decode(nodes[0], "", into)
	}
	if len(findings) == 0 {
		findings = into.validate(nodes[0])
	}
	return append(known, findings.Beyond(known)...).Err()
}

func checkHead(node source.Node, kind string) source.Findings {
	for _, want := range []struct{ field, value string }{
		{"apiVersion", GroupVersion.String()},
		{"kind", kind},
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

// find returns the value at the keys, or the zero Node.
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
