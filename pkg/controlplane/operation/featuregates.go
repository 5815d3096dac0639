// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// featureGates sets entries of --feature-gates, which it treats as a map.
func featureGates() Definition {
	return Definition{
		Name:      "featureGates",
		Summary:   "sets feature gates to true or false, or removes them with null; keeps the remaining gates",
		Example:   "featureGates: {VolumeAttributesClass: true, CSIMigration: null}",
		Arguments: []Argument{{Type: mappingOf(orNull(computed(boolean))).named(gateName), Summary: "gates, by name"}},
		Parts:     target.CommandLine,
		Compile:   compileFeatureGates,
	}
}

var gateName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

func compileFeatureGates(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	if arguments.Node == nil || arguments.Kind != yaml.MappingNode {
		return nil, source.Findings{arguments.Finding(path, "must be a mapping of feature gates to true, false or null").Of(source.WrongType)}
	}
	container := c.container("")
	var (
		writes   []Write
		findings source.Findings
	)
	for _, field := range arguments.Fields() {
		gate, inner := field.Key.Value, path+"."+field.Key.Value
		value, problems := compileGateValue(c, field.Value, inner)
		if !gateName.MatchString(gate) {
			problems = append(problems, field.Key.Finding(path, "%q is not the name of a feature gate", gate).Of(source.InvalidName))
		}
		findings = append(findings, problems...)
		apply := func(o *target.Object, v Resolved) error { return applyMapEntry(o, container, "feature-gates", gate, v) }
		if c.Target.Has(target.KubeletConfiguration) {
			apply = func(o *target.Object, v Resolved) error { return applyKubeletGate(o, container, gate, v) }
		}
		writes = append(writes, Write{Place: Place{FeatureGate, container, gate}, Value: value, At: field.Value, Path: inner, Apply: apply})
	}
	if len(arguments.Fields()) == 0 {
		findings = append(findings, arguments.Finding(path, "names no feature gate").Of(NothingToDo))
	}
	return writes, findings
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

// applyMapEntry sets or removes one entry of a flag that is a map.
func applyMapEntry(o *target.Object, container, flag, key string, v Resolved) error {
	if v.Absent {
		return editEveryFlagValue(o, container, flag, func(value string) (string, error) {
			after, err := commandline.MapValue(value).Remove(key)
			return string(after), err
		})
	}
	if flag == "feature-gates" && v.Text() != "true" && v.Text() != "false" {
		return fmt.Errorf("%w: feature gate %s must be true or false", ErrValue, key)
	}
	if strings.Contains(v.Text(), ",") {
		return fmt.Errorf("%w: the value for %s of --%s has a comma", ErrValue, key, flag)
	}
	return editFlagValue(o, container, flag, func(value string) (string, error) {
		after, err := commandline.MapValue(value).Set(key, v.Text())
		return string(after), err
	})
}

// applyKubeletGate sets or removes a gate in the kubelet's configuration file, and in the flag where the flag is there, since
// the flag would win.
func applyKubeletGate(o *target.Object, container, gate string, v Resolved) error {
	line, err := o.CommandLine(container)
	if err != nil {
		return err
	}
	if line.Has("feature-gates") {
		if err := applyMapEntry(o, container, "feature-gates", gate, v); err != nil {
			return err
		}
	}
	if !v.Absent {
		if v.Text() != "true" && v.Text() != "false" {
			return fmt.Errorf("%w: feature gate %s must be true or false", ErrValue, gate)
		}
		v = Resolved{JSON: []byte(v.Text())}
	}
	return setKubeletField(o, v, "featureGates", gate)
}
