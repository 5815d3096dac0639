// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// flags defines the operation that sets and removes flags of a container's command line, in command and args.
func flags() Definition {
	return Definition{
		Name:      "flags",
		Summary:   "sets and removes flags of a command line in place, in command and in args",
		Example:   "flags: {set: {cloud-provider: external}, remove: [cloud-config]}",
		Examples:  []string{"flags: {container: side, set: {v: 2, audit: null, node-labels: [a=b, \"zone=${ shoot.region }\"]}}"},
		Arguments: append(setAndRemove("flags", flagsTo(orNull(oneOrMore))), inContainer()),
		Parts:     target.CommandLine,
		Compile:   compileFlags,
	}
}

func compileFlags(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	var a containerEdits
	if findings := decodeEdits(arguments, path, &a); len(findings) > 0 {
		return nil, findings
	}
	container := c.container(a.Container)
	return compiler{
		place: Place{Kind: Flag, Container: container},
		value: c.inCommandLine(container, c.with(compileFlagValue)),
		check: checkFlagName,
		apply: func(o *target.Object, name string, v Resolved) error { return applyFlag(o, container, name, v) },
		keep:  func(name string) func(*target.Object) error { return keepFlag(container, name) },
	}.compile(arguments, path, a.Set, a.Remove)
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

// OfFlag returns the operation for a flag with several entries in its value. It returns false for other flags, which
// the operation flags edits.
func OfFlag(flag string) (string, bool) {
	name, ok := keyedFlags[flag]
	return name, ok
}
