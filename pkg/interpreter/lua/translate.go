// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Options say what a profile does not.
type Options struct {
	// Versions are those of each group, for rules that are for all versions of it (acme.com/*).
	Versions map[string][]string
}

// Translate writes a customization for each kind in each version, in the order of groups, kinds and versions. The documents are in force together, in
// their order. What is wrong with them, and what cannot be said in Lua, are findings; where one of them is more than a warning, nothing is written.
func Translate(documents []*profile.Interpreter, o Options) ([]Customization, source.Findings) {
	program, findings := rule.Compile(documents)
	if program == nil {
		return nil, findings
	}
	t := &translator{documents: documents, environments: map[environment]*expression.Environment{}}
	var all []Customization
	for _, known := range interpreter.WithoutExcluded(program.Kinds()) {
		for _, version := range t.versions(known, program.Kinds(), o) {
			kind := interpreter.Kind{Group: known.Group, Version: version, Kind: known.Kind.Kind}
			all = append(all, t.customization(kind, known.Operations))
		}
	}
	findings = append(findings, t.findings...)
	findings.Sort()
	if len(findings.Errors()) > 0 {
		return nil, findings
	}
	return all, findings
}

// place is where something stands in a profile.
type place = source.Place

// translator translates documents, and collects what cannot be.
type translator struct {
	documents    []*profile.Interpreter
	environments map[environment]*expression.Environment
	findings     source.Findings
}

// environment is what expressions see: that of an operation, alone or beside items.
type environment struct {
	operation interpreter.Operation
	items     bool
}

// add adds a finding that is not there yet: what stands for several kinds is translated for each.
func (t *translator) add(f source.Finding) {
	same := func(o source.Finding) bool {
		return o.Position == f.Position && o.Path == f.Path && o.Message == f.Message
	}
	if !slices.ContainsFunc(t.findings, same) {
		t.findings = append(t.findings, f)
	}
}

// only finds fields that are not among those that can be written in Lua.
func (t *translator) only(p place, known ...string) {
	for _, field := range p.Value().Fields() {
		if !slices.Contains(known, field.Key.Value) {
			t.add(p.At(field.Key.Value).FindingOf(NotInLua, "%s is nothing that is written in Lua", field.Key.Value))
		}
	}
}

// versions are those that a kind is written for.
func (t *translator) versions(known interpreter.Known, all []interpreter.Known, o Options) []string {
	if known.Version != "*" {
		return []string{known.Version}
	}
	versions := slices.Clone(o.Versions[known.Group])
	if len(versions) == 0 {
		t.open(known)
	}
	slices.Sort(versions)
	return slices.DeleteFunc(slices.Compact(versions), func(version string) bool {
		return slices.ContainsFunc(all, func(k interpreter.Known) bool {
			return k.Group == known.Group && k.Kind.Kind == known.Kind.Kind && k.Version == version
		})
	})
}

// open finds rules for all versions of a group whose versions are not known.
func (t *translator) open(known interpreter.Known) {
	for _, d := range t.documents {
		for i, spec := range d.Kinds {
			if spec.APIVersion.Value == known.Group+"/*" && slices.Contains(names(spec), known.Kind.Kind) {
				p := place{Node: d.Node}.At("kinds").Item(i).At("apiVersion")
				t.add(p.FindingOf(OpenVersions, "is for all versions, and Karmada's customizations are for one: say which versions of %s there are", known.Group))
			}
		}
	}
}

// names are the kinds that a part of a profile is of.
func names(spec v1alpha1.InterpretedKind) []string {
	if spec.Kind.Value != "" {
		return []string{spec.Kind.Value}
	}
	all := make([]string, len(spec.Kinds))
	for i, name := range spec.Kinds {
		all[i] = name.Value
	}
	return all
}

// of says whether a part of a profile is of a kind.
func of(spec v1alpha1.InterpretedKind, kind interpreter.Kind) bool {
	group, version, found := strings.Cut(spec.APIVersion.Value, "/")
	if !found {
		group, version = "", spec.APIVersion.Value
	}
	return group == kind.Group && (version == "*" || version == kind.Version) && slices.Contains(names(spec), kind.Kind)
}

// The rules of what cannot be written in Lua.
const (
	// NotInLua is something that cannot be said in Lua for Karmada.
	NotInLua source.Rule = "not-in-lua"
	// OpenVersions is a rule for all versions of a group where it is not known which these are.
	OpenVersions source.Rule = "open-versions"
)
