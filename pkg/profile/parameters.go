// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Parameters are values by profile and parameter that an installation sets instead of the defaults.
type Parameters map[string]map[string]source.Node

// Set sets a parameter for all documents that have it. It fails if none of them has it.
func (p Parameters) Set(documents []*Document, name string, value source.Node) error {
	set, known := false, []string{}
	for _, document := range documents {
		known = slices.AppendSeq(known, maps.Keys(document.Parameters))
		if _, ok := document.Parameters[name]; ok {
			if p[document.Metadata.Name] == nil {
				p[document.Metadata.Name] = map[string]source.Node{}
			}
			p[document.Metadata.Name][name], set = value, true
		}
	}
	if !set {
		return fmt.Errorf("no profile has such a parameter%s", source.Suggest(name, known))
	}
	return nil
}

// Override sets the parameters in the documents. Unknown parameters, and values of another type than the
// default, are findings at the installation's value.
func (p Parameters) Override(documents []*Document) source.Findings {
	var findings source.Findings
	for _, document := range documents {
		for _, name := range slices.Sorted(maps.Keys(p[document.Metadata.Name])) {
			value := p[document.Metadata.Name][name]
			path := "parameters." + document.Metadata.Name + "." + name
			fallback, ok := document.Parameters[name]
			switch known := slices.Collect(maps.Keys(document.Parameters)); {
			case !ok:
				findings = append(findings, value.Finding(path, "the profile has no such parameter%s", source.Suggest(name, known)).Of(source.UnknownField))
			case !sameType(value, fallback):
				findings = append(findings, value.Finding(path, "must be of the type of the default at %s", fallback.Position()).Of(source.WrongType))
			default:
				document.Parameters[name] = value
			}
		}
	}
	return findings
}

// YAML returns the parameters as a document.
func (p Parameters) YAML() []byte {
	nodes := map[string]map[string]*yaml.Node{}
	for name, values := range p {
		nodes[name] = map[string]*yaml.Node{}
		for key, value := range values {
			nodes[name][key] = value.Node
		}
	}
	data, err := yaml.Marshal(nodes)
	if err != nil {
		return nil // unreachable: the values were parsed from YAML
	}
	return data
}

// ParseParameters parses the output of YAML. The error is source.Findings.
func ParseParameters(file source.File) (Parameters, error) {
	nodes, findings := source.Parse(file)
	var parameters Parameters
	for _, node := range nodes {
		findings = append(findings, source.Decode(node, "", &parameters)...)
	}
	return parameters, findings.Err()
}

// Unused returns the profiles with parameters that are not loaded.
func (p Parameters) Unused(documents []*Document) []string {
	names := slices.Collect(maps.Keys(p))
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(documents, func(d *Document) bool { return d.Metadata.Name == name })
	})
	slices.Sort(names)
	return names
}

func sameType(a, b source.Node) bool {
	if a.Absent() || b.Absent() {
		return a.Absent() == b.Absent()
	}
	return a.Kind == b.Kind && (a.Kind != yaml.ScalarNode || a.Tag == b.Tag)
}
