// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// flags sets and removes flags of a container's command line, in command and args.
func flags() Definition {
	return Definition{
		Name:      "flags",
		Summary:   "sets and removes flags of a command line in place, in command and in args",
		Example:   "flags: {set: {cloud-provider: external}, remove: [cloud-config]}",
		Examples:  []string{"flags: {container: side, set: {v: 2, audit: null, node-labels: [a=b, \"zone=${ shoot.region }\"]}}"},
		Arguments: append(setAndRemove("flags", flagsTo(orNull(oneOrMore))), inContainer()),
		Parts:     target.CommandLine,
		compile: func(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
			container := c.container(arguments)
			return writeBuilder{
				place: Place{Kind: Flag, Container: container},
				value: c.inCommandLine(container, c.with(compileFlagValue)),
				check: checkFlagName,
				apply: func(o *target.Object, name string, v Resolved) error { return applyFlag(o, container, name, v) },
				keep:  func(name string) func(*target.Object) error { return keepFlag(container, name) },
			}.compileEdits(arguments, path)
		},
	}
}

// featureGates sets entries of --feature-gates, which it treats as a map.
func featureGates() Definition {
	return Definition{
		Name:      "featureGates",
		Summary:   "sets feature gates to true or false, or removes them with null; keeps the remaining gates",
		Example:   "featureGates: {VolumeAttributesClass: true, CSIMigration: null}",
		Arguments: []Argument{{Type: mappingOf(orNull(computed(boolean))).named(gateName), Summary: "gates, by name"}},
		Parts:     target.CommandLine,
		compile: func(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
			if arguments.Node == nil || arguments.Kind != yaml.MappingNode {
				return nil, source.Findings{arguments.Finding(path, "must be a mapping of feature gates to true, false or null").Of(source.WrongType)}
			}
			container, apply := c.Target.Container, applyMapEntry
			if c.Target.Has(target.KubeletConfiguration) {
				apply = applyKubeletGate
			}
			k := writeBuilder{
				place: Place{Kind: FeatureGate, Container: container},
				value: c.with(compileGateValue),
				check: matches(gateName, "the name of a feature gate"),
				apply: func(o *target.Object, gate string, v Resolved) error {
					return apply(o, container, "feature-gates", gate, v)
				},
			}
			k.addValues(arguments, path)
			return k.result(arguments, path, "names no feature gate")
		},
	}
}

// mapFlags edits flags with a map as their value, such as --runtime-config=a=true,b=false.
func mapFlags() Definition {
	return Definition{
		Name:      "mapFlags",
		Summary:   "sets and removes entries of flags with a map, such as --runtime-config; keeps the remaining entries",
		Example:   "mapFlags: {runtime-config: {set: {storage.k8s.io/v1beta1: true}, remove: [batch/v2alpha1]}}",
		Arguments: []Argument{{Summary: "flags, by name", Type: flagsTo(members(setAndRemove("entries", mappingOf(anyText))...))}},
		Parts:     target.CommandLine,
		compile:   compileMapFlags,
	}
}

func compileMapFlags(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	if arguments.Node == nil || arguments.Kind != yaml.MappingNode || len(arguments.Fields()) == 0 {
		return nil, source.Findings{arguments.Finding(path, "must be a mapping of flags to the entries that change").Of(source.WrongType)}
	}
	var (
		container = c.Target.Container
		writes    []Write
		findings  source.Findings
	)
	for _, field := range arguments.Fields() {
		flag := field.Key.Value
		if problem := checkFlagName(flag); problem != "" {
			findings = append(findings, field.Key.Finding(path, "%s", problem).Of(source.InvalidName))
			continue
		}
		more, problems := writeBuilder{
			place: Place{Kind: MapFlagEntry, Container: container, Name: flag + ":"},
			value: c.inCommandLine(container, c.Text),
			apply: func(o *target.Object, key string, v Resolved) error { return applyMapEntry(o, container, flag, key, v) },
		}.compileEdits(field.Value, path+"."+flag)
		writes, findings = append(writes, more...), append(findings, problems...)
	}
	return writes, findings
}

// The flags of the kube-apiserver that list admission plugins.
const (
	enablePlugins  = "enable-admission-plugins"
	disablePlugins = "disable-admission-plugins"
)

// admissionPlugins is the only operation for the two lists of admission plugins. A plugin is in at most one of them. The
// contract requires that plugins that conflict with CSI, such as PersistentVolumeLabel, are enabled without CSI and
// disabled with it.
func admissionPlugins() Definition {
	return Definition{
		Name:     "admissionPlugins",
		Summary:  "enables and disables admission plugins of the kube-apiserver; a plugin in both lists is an error",
		Example:  "admissionPlugins: {enable: [PodNodeSelector]}",
		Examples: []string{"admissionPlugins: {disable: [DefaultStorageClass], default: [AlwaysPullImages]}"},
		Arguments: []Argument{
			{Name: "enable", Type: names, Summary: "plugins to enable"},
			{Name: "disable", Type: names, Summary: "plugins to disable"},
			{Name: "default", Type: names, Summary: "plugins to remove from both lists"},
		},
		Parts:      target.PodTemplate,
		Components: []string{"kube-apiserver"},
		compile:    compileAdmissionPlugins,
	}
}

func compileAdmissionPlugins(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	if c.Target.Component != "kube-apiserver" {
		return nil, source.Findings{arguments.Finding(path, "only a kube-apiserver has admission plugins").Of(WrongTarget)}
	}
	container := c.Target.Container
	k := writeBuilder{
		place: Place{Kind: AdmissionPlugin, Container: container}, check: checkListItem,
		apply: func(o *target.Object, plugin string, v Resolved) error {
			return errors.Join(
				applyListItem(o, container, enablePlugins, plugin, v.Text() == "enabled"),
				applyListItem(o, container, disablePlugins, plugin, v.Text() == "disabled"))
		},
	}
	k.addNames(arguments.Get("enable").Items(), path+".enable", Fixed("enabled"))
	k.addNames(arguments.Get("disable").Items(), path+".disable", Fixed("disabled"))
	k.addNames(arguments.Get("default").Items(), path+".default", Remove())
	return k.result(arguments, path, "names no admission plugin: one of enable, disable and default is needed")
}

var (
	flagName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*$`)
	gateName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
)

// keyedFlags maps flags with several entries in one value to their own operations, which merge by entry.
var keyedFlags = map[string]string{
	"feature-gates": "featureGates",
	enablePlugins:   "admissionPlugins",
	disablePlugins:  "admissionPlugins",
}

// OfFlag returns the operation for a flag with several entries in its value. It returns false for other flags, which
// the operation flags edits.
func OfFlag(flag string) (string, bool) {
	name, ok := keyedFlags[flag]
	return name, ok
}

// flagsTo returns a mapping of flags without those that have operations of their own.
func flagsTo(items Type) Type {
	return mappingOf(items).named(flagName, slices.Sorted(maps.Keys(keyedFlags))...)
}

func checkFlagName(name string) string {
	if !flagName.MatchString(name) {
		return fmt.Sprintf("%q is not a flag name: write it without leading dashes, with - instead of _, and without a value", name)
	}
	if other, ok := keyedFlags[name]; ok {
		return fmt.Sprintf("--%s holds several entries; edit them with the operation %s, which keeps the remaining entries", name, other)
	}
	return ""
}

func checkListItem(item string) string {
	if strings.Contains(item, ",") {
		return "must be a list of names without commas"
	}
	return ""
}

// compileFlagValue compiles one string, a list of strings for a repeated flag, or null for a flag without a value.
func compileFlagValue(c *Context, n source.Node, path string) (Value, source.Findings) {
	switch {
	case n.Absent():
		return Fixed(), nil
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		return c.Texts(n.Items(), path)
	case n.Kind == yaml.ScalarNode:
		return c.Text(n, path)
	default:
		return Value{}, source.Findings{n.Finding(path, "must be a value, a list of values for a repeated flag, or null for a flag without a value").Of(source.WrongType)}
	}
}

// compileGateValue compiles true, false, an expression with such a value, or null.
func compileGateValue(c *Context, n source.Node, path string) (Value, source.Findings) {
	if n.Absent() {
		return Remove(), nil
	}
	value, findings := c.Text(n, path)
	if constant, ok := value.Constant(); ok && constant.Text() != "true" && constant.Text() != "false" {
		findings = append(findings, n.Finding(path, "must be true, false or null").Of(source.WrongValue))
	}
	return value, findings
}

// inCommandLine returns a function that compiles values for the command line of a container. The kubelet's command line
// is part of a unit, for which values are escaped.
func (c *Context) inCommandLine(container string, read func(source.Node, string) (Value, source.Findings)) func(source.Node, string) (Value, source.Findings) {
	if c.Target.Component != "kubelet" || container != c.Target.Container {
		return read
	}
	return func(n source.Node, path string) (Value, source.Findings) {
		value, findings := read(n, path)
		return value.escaped(inCommand), findings
	}
}

func applyFlag(o *target.Object, container, name string, v Resolved) error {
	line, err := o.CommandLine(container)
	if err != nil {
		return err
	}
	switch {
	case v.Absent:
		err = line.Remove(name)
	case len(v.Texts) == 0:
		err = line.SetBare(name)
	default:
		err = line.Set(name, v.Texts...)
	}
	return nested(err, "--%s of container %q", name, container)
}

// keepFlag restores a flag from the old object, unless the old object lacks the container.
func keepFlag(container, name string) func(*target.Object) error {
	return func(o *target.Object) error {
		then, err := old(o).CommandLine(container)
		if errors.Is(err, target.ErrContainerMissing) || errors.Is(err, target.ErrNodePartMissing) {
			return nil
		}
		if err != nil {
			return err
		}
		v := Resolved{Absent: !then.Has(name)}
		if !then.Bare(name) {
			v.Texts = then.Values(name)
		}
		return applyFlag(o, container, name, v)
	}
}

// old returns the stored object.
func old(o *target.Object) *target.Object {
	return &target.Object{Target: o.Target, Form: o.Form, Document: o.Old}
}

// applyMapEntry sets or removes one entry of a flag that is a map.
func applyMapEntry(o *target.Object, container, flag, key string, v Resolved) error {
	switch {
	case v.Absent:
		return editFlagValues(o, container, flag, false, func(value string) (string, error) {
			after, err := commandline.MapValue(value).Remove(key)
			return string(after), err
		})
	case flag == "feature-gates" && !isBoolean(v):
		return fmt.Errorf("%w: feature gate %s must be true or false", ErrValue, key)
	case strings.Contains(v.Text(), ","):
		return fmt.Errorf("%w: the value for %s of --%s has a comma", ErrValue, key, flag)
	}
	return editFlagValues(o, container, flag, true, func(value string) (string, error) {
		after, err := commandline.MapValue(value).Set(key, v.Text())
		return string(after), err
	})
}

// applyKubeletGate sets or removes a gate in the kubelet's configuration file. If the kubelet has the flag, it edits the
// flag too, because the flag overrides the file.
func applyKubeletGate(o *target.Object, container, flag, gate string, v Resolved) error {
	line, err := o.CommandLine(container)
	if err != nil {
		return err
	}
	if line.Has(flag) {
		if err := applyMapEntry(o, container, flag, gate, v); err != nil {
			return err
		}
	}
	switch {
	case v.Absent:
	case !isBoolean(v):
		return fmt.Errorf("%w: feature gate %s must be true or false", ErrValue, gate)
	default:
		v = Resolved{JSON: []byte(v.Text())}
	}
	return setKubeletField(o, v, "featureGates", gate)
}

func isBoolean(v Resolved) bool { return v.Text() == "true" || v.Text() == "false" }

// applyListItem adds an item at the end of the list, unless some occurrence of the flag has it, or removes it from every
// occurrence.
func applyListItem(o *target.Object, container, flag, item string, add bool) error {
	line, err := o.CommandLine(container)
	if err != nil {
		return err
	}
	if add && slices.ContainsFunc(line.Values(flag), func(value string) bool { return commandline.ListValue(value).Has(item) }) {
		return nil
	}
	return editFlagValues(o, container, flag, add, func(value string) (string, error) {
		if add {
			return string(commandline.ListValue(value).Add(item)), nil
		}
		return string(commandline.ListValue(value).Remove(item)), nil
	})
}

// editFlagValues applies edit to the values of a flag with several entries. To add an entry, it edits only the last
// occurrence, which is the effective one, or an empty value if there is none. Otherwise it edits every occurrence, and
// removes those that become empty.
func editFlagValues(o *target.Object, container, flag string, add bool, edit func(value string) (string, error)) error {
	line, err := o.CommandLine(container)
	if err != nil {
		return err
	}
	before := line.Values(flag)
	values := slices.Clone(before)
	if add && len(values) == 0 {
		values = []string{""}
	}
	var after []string
	for i, value := range values {
		edited := value
		if !add || i == len(values)-1 {
			if edited, err = edit(value); err != nil {
				return nested(err, "--%s of container %q", flag, container)
			}
		}
		if edited != "" || value == "" {
			after = append(after, edited)
		}
	}
	switch {
	case slices.Equal(after, before):
		return nil
	case len(after) == 0:
		return nested(line.Remove(flag), "--%s of container %q", flag, container)
	default:
		return nested(line.Set(flag, after...), "--%s of container %q", flag, container)
	}
}
