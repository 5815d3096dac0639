// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// mapFlags defines the operation for flags with a map as their value, such as --runtime-config=a=true,b=false.
func mapFlags() Definition {
	return Definition{
		Name:      "mapFlags",
		Summary:   "sets and removes entries of flags with a map, such as --runtime-config; keeps the remaining entries",
		Example:   "mapFlags: {runtime-config: {set: {storage.k8s.io/v1beta1: true}, remove: [batch/v2alpha1]}}",
		Arguments: []Argument{{Summary: "flags, by name", Type: flagsTo(members(setAndRemove("entries", mappingOf(anyText))...))}},
		Parts:     target.CommandLine,
		Compile:   compileMapFlags,
	}
}

func compileMapFlags(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	return compileFlagEntries(arguments, path, func(flag string, entry source.Node, path string) ([]Write, source.Findings) {
		container := c.container("")
		writes, findings := compiler{
			place: Place{Kind: MapFlagEntry, Container: container},
			value: c.inCommandLine(container, c.Text),
			apply: func(o *target.Object, key string, v Resolved) error { return applyMapEntry(o, container, flag, key, v) },
		}.compileEdits(entry, path)
		for i := range writes {
			writes[i].Place.Name = flag + ":" + writes[i].Place.Name
		}
		return writes, findings
	})
}

// compileFlagEntries compiles a mapping of flags to edits of their entries.
func compileFlagEntries(arguments source.Node, path string, one func(flag string, n source.Node, path string) ([]Write, source.Findings)) ([]Write, source.Findings) {
	if arguments.Node == nil || arguments.Kind != yaml.MappingNode || len(arguments.Fields()) == 0 {
		return nil, source.Findings{arguments.Finding(path, "must be a mapping of flags to the entries that change").Of(source.WrongType)}
	}
	var (
		writes   []Write
		findings source.Findings
	)
	for _, field := range arguments.Fields() {
		if problem := checkFlagName(field.Key.Value); problem != "" {
			findings = append(findings, field.Key.Finding(path, "%s", problem).Of(source.InvalidName))
			continue
		}
		more, problems := one(field.Key.Value, field.Value, path+"."+field.Key.Value)
		writes, findings = append(writes, more...), append(findings, problems...)
	}
	return writes, findings
}
