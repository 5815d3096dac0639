// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// editFlagValue replaces the value of a flag that holds several entries by what edit makes of it. Where the flag stands
// several times, the last occurrence is edited, since that is the one in force for the entry. A flag that is left empty goes.
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
