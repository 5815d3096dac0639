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

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

var flagName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*$`)

// keyedFlags maps flags with several entries in one value to their own operations, which merge by entry.
var keyedFlags = map[string]string{
	"feature-gates":             "featureGates",
	"enable-admission-plugins":  "admissionPlugins",
	"disable-admission-plugins": "admissionPlugins",
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

// inCommandLine returns a function that compiles values for the command line of a container. The kubelet's command line
// is part of a unit, for which values are escaped.
func (c *Context) inCommandLine(container string, read func(source.Node, string) (Value, source.Findings)) func(source.Node, string) (Value, source.Findings) {
	if !c.inUnit(container) {
		return read
	}
	return func(n source.Node, path string) (Value, source.Findings) {
		value, findings := read(n, path)
		return value.escaped(inCommand), findings
	}
}

// inUnit reports whether the command line belongs to a unit.
func (c *Context) inUnit(container string) bool {
	return c.Target.Component == "kubelet" && container == c.Target.Container
}

// editFlagValue applies edit to the value of a flag with several entries. If the flag occurs several times, it edits
// the last occurrence, which is the effective one. It removes a flag that becomes empty.
func editFlagValue(o *target.Object, container, flag string, edit func(value string) (string, error)) error {
	line, err := o.CommandLine(container)
	if err != nil {
		return err
	}
	values := slices.Clone(line.Values(flag))
	before := ""
	if len(values) > 0 {
		before = values[len(values)-1]
	}
	after, err := edit(before)
	if err != nil {
		return nested(err, "--%s of container %q", flag, container)
	}
	switch {
	case after == before:
		return nil
	case len(values) == 0:
		values = []string{after}
	case after == "":
		values = values[:len(values)-1]
	default:
		values[len(values)-1] = after
	}
	if len(values) == 0 {
		return nested(line.Remove(flag), "--%s of container %q", flag, container)
	}
	return nested(line.Set(flag, values...), "--%s of container %q", flag, container)
}

// editEveryFlagValue removes an entry from every occurrence of a flag.
func editEveryFlagValue(o *target.Object, container, flag string, edit func(value string) (string, error)) error {
	line, err := o.CommandLine(container)
	if err != nil {
		return err
	}
	var kept []string
	values := line.Values(flag)
	for _, value := range values {
		after, err := edit(value)
		if err != nil {
			return nested(err, "--%s of container %q", flag, container)
		}
		if after != "" || value == "" {
			kept = append(kept, after)
		}
	}
	switch {
	case slices.Equal(kept, values):
		return nil
	case len(kept) == 0:
		return nested(line.Remove(flag), "--%s of container %q", flag, container)
	default:
		return nested(line.Set(flag, kept...), "--%s of container %q", flag, container)
	}
}

// old returns the stored object.
func old(o *target.Object) *target.Object {
	return &target.Object{Target: o.Target, Form: o.Form, Document: o.Old}
}

// keepFlag restores a flag from the old object, unless the old object lacks the container.
func keepFlag(container, name string) func(*target.Object) error {
	return func(o *target.Object) error {
		now, err := o.CommandLine(container)
		if err != nil {
			return err
		}
		then, err := old(o).CommandLine(container)
		if errors.Is(err, target.ErrContainerMissing) || errors.Is(err, target.ErrNodePartMissing) {
			return nil
		}
		if err != nil {
			return err
		}
		values := then.Values(name)
		switch {
		case !then.Has(name):
			err = now.Remove(name)
		case slices.Equal(values, now.Values(name)) && then.Bare(name) == now.Bare(name):
		case then.Bare(name):
			err = now.SetBare(name)
		default:
			err = now.Set(name, values...)
		}
		return nested(err, "--%s of container %q", name, container)
	}
}

// flagsTo returns a mapping of flags without those that have operations of their own.
func flagsTo(items Type) Type {
	return mappingOf(items).named(flagName, slices.Sorted(maps.Keys(keyedFlags))...)
}
