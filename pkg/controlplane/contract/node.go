// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"
	"strings"

	"k8s.io/utils/lru"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
)

// protectNode returns the same error as protectKubelet. It is faster if the rules changed only flags of the kubelet's
// unit, the kubelet's configuration, and files that the unit does not use, which is the usual case.
func protectNode(o *target.Object, exempt Exemption) error {
	if flags, ok := changedKubeletFlags(o.Document.Original(), o.Document.Root()); ok {
		return checkKubeletFlags(flags, exempt)
	}
	return protectKubelet(o, exempt)
}

// unitChange is the difference between two contents of the kubelet's unit. It contains no values, because they may be
// those of Secrets.
type unitChange struct {
	// flags are the names of the flags with other values. They are the only difference in what the contract protects if
	// onlyFlags is true.
	flags     []string
	onlyFlags bool
	program   string
	// environmentFiles are the patterns of the files with variables.
	environmentFiles []string
}

// The limits of the cache of unitChanges, which bound its memory to 8 MiB.
const (
	cachedChanges  = 512
	cachedContents = 16 << 10
)

// unitChanges remembers the differences between contents of the unit, because parsing both takes half of the time of
// Protect. Its keys are hashes of the two contents.
var unitChanges = lru.New(cachedChanges)

// changedKubeletFlags returns the names of the kubelet's flags that have other values than before. It returns false if
// more must be compared: if the unit changed in another way, is not valid or has an alias, if another file belongs to the
// service, or if the changed files may influence it.
func changedKubeletFlags(before, after *document.Node) ([]string, bool) {
	changed, ok := changedFiles(before, after)
	if !ok || !hasSimpleParts(after) {
		return nil, false
	}
	unit := compareUnits(kubeletUnitOf(before), kubeletUnitOf(after))
	influences := func(file string) bool {
		return DefinesKubelet(file) || file == unit.program || slices.ContainsFunc(unit.environmentFiles, func(pattern string) bool {
			return matchesEnvironmentFile(strings.TrimPrefix(pattern, "-"), realPath(file))
		})
	}
	return unit.flags, unit.onlyFlags && !slices.ContainsFunc(changed, influences)
}

// hasSimpleParts reports whether the units and files of a node have different paths, and the kubelet's service consists
// of its unit alone. It may return false for others with these properties.
func hasSimpleParts(root *document.Node) bool {
	files, units := root.Find("spec", "files").Items(), root.Find("spec", "units").Items()
	known := make([]string, 0, len(files)+len(units))
	isOther := func(name string) bool {
		is := !slices.Contains(known, name)
		known = append(known, name)
		return is
	}
	for _, file := range files {
		name := realPath(text(file.Get("path")))
		if !isOther(name) || strings.HasPrefix(name, unitDirectory) || definesService(name, false) {
			return false
		}
	}
	for _, unit := range units {
		name := text(unit.Get("name"))
		if !isOther(name) || strings.Contains(name, "/") {
			return false
		}
		switch dropIns := unit.Get("dropIns").Items(); len(dropIns) {
		case 0:
		case 1:
			dropIn := text(dropIns[0].Get("name"))
			if strings.Contains(dropIn, "/") || definesService(realPath(unitDirectory+"/"+name+".d/"+dropIn), false) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// compareUnits returns the difference between two contents of the kubelet's unit.
func compareUnits(before, after *document.Node) *unitChange {
	if before.Kind() != document.String || after.Kind() != document.String {
		return &unitChange{}
	}
	key := target.CacheKey(before.Raw(), after.Raw())
	if known, ok := unitChanges.Get(key); ok {
		return known.(*unitChange)
	}
	change := newUnitChange(text(before), text(after))
	if len(before.Raw())+len(after.Raw()) <= cachedContents {
		unitChanges.Add(key, change)
	}
	return change
}

func newUnitChange(before, after string) *unitChange {
	was, err := systemd.ParseService(before)
	if err != nil {
		return &unitChange{}
	}
	is, err := systemd.ParseService(after)
	if err != nil || !slices.Equal(was.Command.Fixed(), is.Command.Fixed()) || is.Unit.Values("Install", "Alias") != nil {
		return &unitChange{}
	}
	same := func(section, option string) bool {
		return slices.Equal(was.Unit.Values(section, option), is.Unit.Values(section, option))
	}
	files := is.Unit.Values("Service", "EnvironmentFile")
	onlyFlags := same("Install", "Alias") && same("Service", "PAMName") && same("Service", "EnvironmentFile") &&
		!slices.ContainsFunc(files, func(pattern string) bool {
			return matchesEnvironmentFile(strings.TrimPrefix(pattern, "-"), kubeletPath)
		})
	for _, o := range environmentOptions {
		onlyFlags = onlyFlags && same(o.section, o.option)
	}
	return &unitChange{
		flags: copies(was.Command.Differences(&is.Command.FlagList)), onlyFlags: onlyFlags,
		program: strings.Clone(is.Command.Program()[0]), environmentFiles: copies(files),
	}
}

// copies returns copies of words that are parts of a text, which would stay in memory with them.
func copies(words []string) []string {
	var all []string
	for _, word := range words {
		all = append(all, strings.Clone(word))
	}
	return all
}

// changedFiles returns the paths of the files that were changed or appended. It returns false if the units and files
// have other edits than these and those of the content of the kubelet's unit.
func changedFiles(before, after *document.Node) ([]string, bool) {
	was, is := before.Find("spec", "units").Items(), after.Find("spec", "units").Items()
	if len(was) != len(is) {
		return nil, false
	}
	for i := range is {
		if !unedited(was[i], is[i]) && (!is[i].Get("name").Is(target.KubeletUnit) || !sameMember(was[i], is[i], "dropIns")) {
			return nil, false
		}
	}
	was, is = before.Find("spec", "files").Items(), after.Find("spec", "files").Items()
	if len(is) < len(was) {
		return nil, false
	}
	var changed []string
	for i := range is {
		switch {
		case i < len(was) && unedited(was[i], is[i]):
		case i < len(was) && !sameMember(was[i], is[i], "path"):
			return nil, false
		default:
			changed = append(changed, text(is[i].Get("path")))
		}
	}
	return changed, true
}

// unedited reports whether an item is the original one.
func unedited(was, is *document.Node) bool { return !is.Edited() && equalBytes(was, is) }

// sameMember reports whether a member of two objects is equal.
func sameMember(a, b *document.Node, key string) bool { return equalBytes(a.Get(key), b.Get(key)) }
