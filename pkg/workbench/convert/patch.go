// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"slices"
	"strconv"
	"strings"
)

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// patches are the steps of JSON patches, one list for each place, that make of an object what no other operation makes of it: the
// places are those at which the canonical forms differ.
func patches(got, want tree) [][]any {
	var (
		all  [][]any
		seen = map[string]bool{}
	)
	for _, path := range differences(canonical(got), canonical(want), nil) {
		for _, ends := range endings(path) {
			steps := patchAt(got, want, ends)
			if len(steps) == 0 {
				continue
			}
			if last := textAt(steps[len(steps)-1], "path"); !seen[last] {
				seen[last] = true
				all = append(all, steps)
			}
		}
	}
	return all
}

// endings are the paths in the object for one in the canonical form, in which a command line stands for two lists.
func endings(path []string) [][]string {
	for i, key := range path {
		if slices.Contains([]string{canonProgram, canonFlags, canonRest}, key) && i > 1 && (path[i-2] == "containers" || path[i-2] == "initContainers") {
			begin := path[:i:i]
			return [][]string{append(begin, "command"), append(begin, "args")}
		}
	}
	return [][]string{path}
}

// patchAt makes what stands at a path the same, as far as the path leads into both objects.
func patchAt(got, want any, path []string) []any {
	var (
		steps   []any
		pointer string
	)
	for _, key := range path {
		was, ok := got.(tree)
		is, isOk := want.(tree)
		if ok && isOk {
			_, there := was[key]
			_, wanted := is[key]
			below := pointer + "/" + escapePointer.Replace(key)
			switch {
			case there && wanted:
				got, want, pointer = was[key], is[key], below
				continue
			case wanted:
				return append(steps, tree{"op": "add", "path": below, "value": is[key]})
			case there:
				return append(steps, tree{"op": "remove", "path": below})
			}
			break
		}
		i, item, other, by := itemAt(got, want, key)
		if i < 0 {
			break
		}
		below := pointer + "/" + strconv.Itoa(i)
		steps = append(steps, tree{"op": "test", "path": below + "/" + by, "value": key})
		if other == nil {
			return append(steps, tree{"op": "remove", "path": below})
		}
		got, want, pointer = item, other, below
	}
	if pointer == "" || equal(got, want) {
		return nil
	}
	return append(steps, tree{"op": "replace", "path": pointer, "value": want})
}

// itemAt finds the item of a list by its name, and the item of the same name in the other list, nil where there is none.
func itemAt(got, want any, name string) (index int, item, other any, by string) {
	for _, by := range []string{"name", "path", "containerName", "mountPath"} {
		was, order, ok := keyed(got, by)
		is, _, isOk := keyed(want, by)
		if !ok || !isOk || was[name] == nil {
			continue
		}
		for i, key := range order {
			if key != name {
				continue
			}
			if is[name] == nil {
				return i, was[name], nil, by
			}
			return i, was[name], is[name], by
		}
	}
	return -1, nil, nil, ""
}
