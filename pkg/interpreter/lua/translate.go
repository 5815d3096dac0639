// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Options supply information that profiles do not contain.
type Options struct {
	// Versions lists the versions of each group, for rules for all versions (acme.com/*).
	Versions map[string][]string
}

// Translate returns a customization for each version of each kind, ordered by group, kind and version. The
// documents apply together, in order. Findings are errors in the profiles and expressions without equivalent in
// Lua; if one is more than a warning, no customization is returned.
func Translate(documents []*profile.Interpreter, o Options) ([]Customization, source.Findings) {
	program, findings := rule.Compile(documents)
	if program == nil {
		return nil, findings
	}
	t := &translator{documents: documents, program: program}
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

// translator translates documents and collects findings.
type translator struct {
	documents []*profile.Interpreter
	program   *rule.Program
	findings  source.Findings
}

// add adds a finding unless it exists. A rule for several kinds is translated for each of them.
func (t *translator) add(f source.Finding) {
	same := func(o source.Finding) bool {
		return o.Position == f.Position && o.Path == f.Path && o.Message == f.Message
	}
	if !slices.ContainsFunc(t.findings, same) {
		t.findings = append(t.findings, f)
	}
}

// versions returns the versions to write a kind for.
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

// open adds findings for rules that apply to all versions of a group if its versions are not known.
func (t *translator) open(known interpreter.Known) {
	named := func(kind source.Text) bool { return kind.Value == known.Kind.Kind }
	for _, d := range t.documents {
		for i, spec := range d.Kinds {
			if spec.APIVersion.Value == known.Group+"/*" && (named(spec.Kind) || slices.ContainsFunc(spec.Kinds, named)) {
				p := source.Place{Node: d.Node}.At("kinds").Item(i).At("apiVersion")
				t.add(p.FindingOf(OpenVersions, "applies to all versions, but a customization of Karmada applies to one: list the versions of %s", known.Group))
			}
		}
	}
}

// The rules for findings of the translation.
const (
	// NotInLua reports an expression or field without equivalent in Karmada's Lua.
	NotInLua source.LintRule = "not-in-lua"
	// OpenVersions reports a rule for all versions of a group whose versions are not known.
	OpenVersions source.LintRule = "open-versions"
)

const (
	// APIVersion is the apiVersion of a customization.
	APIVersion = "config.karmada.io/v1alpha1"
	// Kind is the kind of a customization.
	Kind = "ResourceInterpreterCustomization"
)

// Customization is one ResourceInterpreterCustomization: the scripts that Karmada runs for one kind in one version.
type Customization struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Target struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		} `json:"target"`
		Customizations Customizations `json:"customizations"`
	} `json:"spec"`
}

// Customizations contains a script for each operation, by the name of its field in Karmada.
type Customizations map[string]*Script

// Script is a script in Lua.
type Script struct {
	LuaScript string `json:"luaScript"`
}

// fields maps operations to the fields of their scripts. Karmada has none for Prune.
var fields = map[interpreter.Operation]string{
	interpreter.Replicas: "replicaResource", interpreter.Components: "componentResource", interpreter.Revise: "replicaRevision",
	interpreter.Retain: "retention", interpreter.Aggregate: "statusAggregation", interpreter.Status: "statusReflection",
	interpreter.Health: "healthInterpretation", interpreter.Dependencies: "dependencyInterpretation",
}

// Of returns the script for an operation, or nil if there is none.
func (c Customizations) Of(operation interpreter.Operation) *Script { return c[fields[operation]] }

// newCustomization returns a customization without scripts.
func newCustomization(kind interpreter.Kind) Customization {
	c := Customization{APIVersion: APIVersion, Kind: Kind}
	c.Metadata.Name = strings.ToLower("graft." + kind.String())
	c.Spec.Target.APIVersion, c.Spec.Target.Kind = schema.GroupVersion{Group: kind.Group, Version: kind.Version}.String(), kind.Kind
	c.Spec.Customizations = Customizations{}
	return c
}
