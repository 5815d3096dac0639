// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// canonical is an object in a form in which what means the same is the same: items of lists by their names, command lines, units and
// documents in texts as what they say, quantities by their amounts. What the API server keeps for itself is not in it.
func canonical(t tree) any {
	t = clone(t).(tree)
	forget(t)
	return canon(t, "")
}

// canonKeys are the members by which items are told apart, without regard to their order.
var canonKeys = map[string]string{
	"containers": "name", "initContainers": "name", "env": "name", "volumes": "name", "volumeMounts": "mountPath", "units": "name",
	"files": "path", "dropIns": "name", "containerPolicies": "containerName", "imagePullSecrets": "name",
}

// canon is the canonical form of what stands under a name.
func canon(value any, name string) any {
	switch value := value.(type) {
	case tree:
		return canonTree(value, name)
	case []any:
		if items, _, ok := keyed(value, canonKeys[name]); ok && canonKeys[name] != "" {
			out := tree{}
			for key, item := range items {
				out[key] = canonItem(item, name)
			}
			return out
		}
		if name == "ports" {
			return canonPorts(value)
		}
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = canon(item, "")
		}
		return out
	}
	return value
}

// quantities are members whose members are amounts.
var quantities = []string{"requests", "limits", "minAllowed", "maxAllowed"}

func canonTree(t tree, name string) any {
	out := make(tree, len(t))
	for key, member := range t {
		switch {
		case slices.Contains(quantities, name), key == "storageCapacity":
			out[key] = amount(member)
		case name == "data":
			out[key] = canonText(scalarText(member))
		default:
			out[key] = canon(member, key)
		}
		if below, ok := out[key].(tree); ok && len(below) == 0 && slices.Contains([]string{"labels", "annotations"}, key) {
			delete(out, key)
		}
		if list, ok := member.([]any); ok && len(list) == 0 && (canonKeys[key] != "" || key == "args" || key == "command") {
			delete(out, key)
		}
	}
	return out
}

// amount is a quantity in its canonical spelling, or what it is.
func amount(value any) any {
	quantity, err := resource.ParseQuantity(scalarText(value))
	if err != nil {
		return value
	}
	return quantity.String()
}

func canonItem(item tree, list string) any {
	switch list {
	case "containers", "initContainers":
		return canonContainer(item)
	case "units":
		return canonUnit(item)
	case "files":
		return canonFile(item)
	}
	out := canonTree(item, "")
	if list == "env" && at(out, "valueFrom") == nil && at(out, "value") == nil {
		out.(tree)["value"] = ""
	}
	return out
}

// The members that stand for a command line in the canonical form.
const (
	canonProgram = "program"
	canonFlags   = "flags"
	canonRest    = "arguments"
)

func canonContainer(container tree) any {
	line := commandOf(container)
	if line == nil {
		return canonTree(container, "")
	}
	out := canonTree(but(container, "command", "args"), "").(tree)
	if program := line.Program(); len(program) > 0 {
		out[canonProgram] = texts(program)
	}
	if flags := canonFlagsOf(&line.FlagList); len(flags) > 0 {
		out[canonFlags] = flags
	}
	if rest := besides(container, line); len(rest) > 0 {
		out[canonRest] = texts(rest)
	}
	return out
}

// canonFlagsOf are flags with their values; entries of feature gates, and plugins, are without order.
func canonFlagsOf(list *document.FlagList) tree {
	out := tree{}
	for name, value := range flagsIn(list) {
		switch name {
		case gatesFlag:
			gates := tree{}
			for gate, state := range entriesOf(value.joined()) {
				gates[gate] = state
			}
			out[name] = gates
		case enableFlag, disableFlag:
			plugins := tree{}
			for _, plugin := range document.ListValue(value.joined()).Items() {
				plugins[plugin] = true
			}
			out[name] = plugins
		default:
			out[name] = cmp.Or[any](value.argument(), tree{})
		}
	}
	return out
}

func canonUnit(unit tree) any {
	out := canonTree(unit, "").(tree)
	parsed, err := document.UnitOf(textAt(unit, "content"))
	if err != nil || textAt(unit, "content") == "" {
		return out
	}
	options := tree{}
	for key, values := range optionsIn(parsed) {
		options[strings.ReplaceAll(key, "\x00", ".")] = texts(values)
	}
	if command, err := parsed.Command("Service", "ExecStart"); err == nil && textAt(unit, "name") == target.KubeletUnit {
		delete(options, "Service.ExecStart")
		options[canonProgram], options[canonFlags] = texts(command.Program()), canonFlagsOf(&command.FlagList)
	}
	out["content"] = options
	return out
}

func canonFile(file tree) any {
	out := canonTree(file, "").(tree)
	text, ok := inlineOf(file)
	if !ok {
		return out
	}
	content := maps.Clone(treeAt(out, "content"))
	out["content"] = content
	if textAt(file, "path") == target.KernelSettingsPath {
		settings, rest := settingsIn(text)
		content["inline"] = tree{"rest": rest, "settings": settings}
		return out
	}
	content["inline"] = canonText(text)
	return out
}

// canonText is a document as what it says, or the text.
func canonText(text string) any {
	if parsed, ok := yamlTree(text); ok {
		return canonTree(parsed, "document")
	}
	return text
}

func canonPorts(ports []any) any {
	out := tree{}
	for _, port := range ports {
		members, ok := port.(tree)
		if !ok {
			return ports
		}
		key := scalarText(members["containerPort"]) + "/" + cmp.Or(textAt(members, "protocol"), "TCP")
		if out[key] != nil || members["containerPort"] == nil {
			return ports
		}
		out[key] = but(members, "protocol")
	}
	return out
}

// differences are the paths at which two canonical values differ, sorted.
func differences(a, b any, path []string) [][]string {
	if equal(a, b) {
		return nil
	}
	was, ok := a.(tree)
	is, isOk := b.(tree)
	if !ok || !isOk {
		return [][]string{slices.Clone(path)}
	}
	var all [][]string
	for _, key := range slices.Sorted(maps.Keys(both(was, is))) {
		all = append(all, differences(was[key], is[key], append(path, key))...)
	}
	return all
}

// both is all the members of both.
func both(a, b tree) tree {
	out := maps.Clone(a)
	if out == nil {
		out = tree{}
	}
	maps.Copy(out, b)
	return out
}
