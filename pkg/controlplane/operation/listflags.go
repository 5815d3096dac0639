// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// listFlags defines the operation for flags with a list as their value, such as --controllers=*,-nodeipam.
func listFlags() Definition {
	return Definition{
		Name:    "listFlags",
		Summary: "adds and removes items of flags with a comma-separated list; keeps the remaining items",
		Example: "listFlags: {controllers: {add: [-nodeipam], remove: [nodeipam]}}",
		Arguments: []Argument{{Summary: "flags, by name", Type: flagsTo(members(
			Argument{Name: "add", Type: names, Summary: "items to append, unless present"},
			Argument{Name: "remove", Type: names, Summary: "items to remove"},
		))}},
		Parts:   target.CommandLine,
		Compile: compileListFlags,
	}
}

func compileListFlags(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	return compileFlagEntries(arguments, path, func(flag string, entry source.Node, path string) ([]Write, source.Findings) {
		var a struct {
			Add    []source.Node `json:"add"`
			Remove []source.Node `json:"remove"`
		}
		if findings := source.Decode(entry, path, &a); len(findings) > 0 {
			return nil, findings
		}
		container := c.container("")
		added, findings := compileItems(a.Add, path+".add", Place{ListFlagItem, container, flag + ":"}, Fixed())
		removed, problems := compileItems(a.Remove, path+".remove", Place{ListFlagItem, container, flag + ":"}, Remove())
		writes := slices.Concat(added, removed)
		for i := range writes {
			item := strings.TrimPrefix(writes[i].Place.Name, flag+":")
			if c.inUnit(container) {
				item = inCommand.whole(item)
			}
			writes[i].Apply = applyListItem(container, flag, item)
		}
		if findings = append(findings, problems...); len(writes)+len(findings) == 0 {
			findings = append(findings, entry.Finding(path, "nothing to add and nothing to remove").Of(NothingToDo))
		}
		return writes, findings
	})
}

// compileItems creates a write for each name in a list. The caller sets how it is applied.
func compileItems(items []source.Node, path string, place Place, value Value) ([]Write, source.Findings) {
	var (
		writes   []Write
		findings source.Findings
	)
	for _, item := range items {
		if item.Node == nil || item.Kind != yaml.ScalarNode || item.Absent() || item.Value == "" || strings.Contains(item.Value, ",") {
			findings = append(findings, item.Finding(path, "must be a list of names without commas").Of(source.WrongType))
			continue
		}
		if problem := checkName(item.Value); problem != "" {
			findings = append(findings, item.Finding(path, "%s", problem).Of(source.InvalidName))
			continue
		}
		at := place
		at.Name += item.Value
		writes = append(writes, Write{Place: at, Value: value, At: item, Path: path})
	}
	return writes, findings
}

func applyListItem(container, flag, item string) func(*target.Object, Resolved) error {
	return func(o *target.Object, v Resolved) error {
		if v.Absent {
			return removeListItem(o, container, flag, item)
		}
		return addListItem(o, container, flag, item)
	}
}

// addListItem adds an item at the end of the list, unless some occurrence of the flag has it.
func addListItem(o *target.Object, container, flag, item string) error {
	line, err := o.CommandLine(container)
	if err != nil {
		return err
	}
	for _, value := range line.Values(flag) {
		if commandline.ListValue(value).Has(item) {
			return nil
		}
	}
	return editFlagValue(o, container, flag, func(value string) (string, error) {
		return string(commandline.ListValue(value).Add(item)), nil
	})
}

func removeListItem(o *target.Object, container, flag, item string) error {
	return editEveryFlagValue(o, container, flag, func(value string) (string, error) {
		return string(commandline.ListValue(value).Remove(item)), nil
	})
}
