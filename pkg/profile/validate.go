// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

func validate(d *Document) source.Findings {
	v := validator{document: d, findings: validateName(d.Metadata, d.Node)}
	v.providers()
	v.mode()
	v.names("parameters", slices.Collect(maps.Keys(d.Parameters)))
	v.versions()
	v.imageVector()
	v.names("lookups", slices.Collect(maps.Keys(d.Lookups)))
	v.names("variables", slices.Collect(maps.Keys(d.Variables)))
	for _, name := range slices.Sorted(maps.Keys(d.Lookups)) {
		v.lookup(name, d.Lookups[name])
	}
	if len(d.ControlPlane)+len(d.ControlPlaneExposure)+len(d.ControlPlaneBackup) == 0 {
		v.add(source.MissingField, "", "no rules: at least one of controlplane, controlplaneexposure and controlplanebackup is needed")
	}
	v.rules()
	return v.findings
}

// MaximumRules limits the rules of a profile. The loading time grows with their number; this many take a few
// seconds.
const MaximumRules = 8000

// rules reports the first rule beyond MaximumRules.
func (v *validator) rules() {
	count := 0
	for _, set := range sets {
		for _, target := range v.document.Node.Get(set).Fields() {
			items := target.Value.Items()
			if count += len(items); count > MaximumRules {
				first := items[len(items)-(count-MaximumRules)]
				path := set + "." + target.Key.Value
				v.findings = append(v.findings, first.Finding(path, "the profile has more than %d rules", MaximumRules).Of(source.WrongValue))
				return
			}
		}
	}
}

// sets lists the fields of a profile that contain rules.
var sets = []string{"controlplane", "controlplaneexposure", "controlplanebackup"}

// validateName validates the name of a document of any kind.
func validateName(m v1alpha1.Metadata, n source.Node) source.Findings {
	const path = "metadata.name"
	if m.Name == "" {
		return source.Findings{find(n, path).Finding(path, "is missing").Of(source.MissingField)}
	}
	if problems := validation.IsDNS1123Subdomain(m.Name); len(problems) > 0 {
		return source.Findings{find(n, path).Finding(path, "%q is not a valid name: %s", m.Name, strings.Join(problems, "; ")).Of(source.InvalidName)}
	}
	return nil
}

type validator struct {
	document *Document
	findings source.Findings
}

func (v *validator) add(rule source.LintRule, path, format string, arguments ...any) {
	v.findings = append(v.findings, find(v.document.Node, path).Finding(path, format, arguments...).Of(rule))
}

// choose adds a finding that a similar known word fixes, if there is one.
func (v *validator) choose(n source.Node, known []string, path, format string, arguments ...any) {
	v.add(source.WrongValue, path, format, arguments...)
	last := &v.findings[len(v.findings)-1]
	*last = last.Instead(n, known)
}

// mode validates mode and observe.
func (v *validator) mode() {
	if mode := v.document.Mode; mode != "" && mode != v1alpha1.ModeEnforce && mode != v1alpha1.ModeObserve {
		v.choose(v.document.Node.Get("mode"), []string{v1alpha1.ModeEnforce, v1alpha1.ModeObserve}, "mode", "must be enforce or observe, is %q", mode)
	}
	items := v.document.Node.Get("observe").Items()
	for i, set := range v.document.Observe {
		if !slices.Contains(sets, set) && items[i].Tag == "!!str" {
			v.choose(items[i], sets, "observe", "%q is not a set%s", set, source.Suggest(set, sets))
		}
	}
}

func (v *validator) providers() {
	if len(v.document.Providers) == 0 {
		v.add(source.MissingField, "providers", "at least one provider type is needed, such as openstack")
	}
	seen := map[string]bool{}
	items := v.document.Node.Get("providers").Items()
	for i, provider := range v.document.Providers {
		if items[i].Tag != "!!str" {
			continue // another type is reported already
		}
		if problems := validation.IsValidLabelValue(provider); provider == "" || len(problems) > 0 {
			v.add(source.InvalidName, "providers", "%q is not a provider type: it must be a label value", provider)
		}
		if seen[provider] {
			v.add(source.DuplicateName, "providers", "%q is listed twice", provider)
		}
		seen[provider] = true
	}
}

func (v *validator) names(field string, names []string) {
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !source.IsIdentifier(name) {
			v.add(source.InvalidName, field+"."+name, "a name that expressions use must consist of letters, digits and _, and not begin with a digit")
		}
	}
}

// find returns the node at a dotted path of keys, or its nearest existing parent.
func find(n source.Node, path string) source.Node {
	if path == "" {
		return n
	}
	key, rest, _ := strings.Cut(path, ".")
	for _, field := range n.Fields() {
		if field.Key.Value == key {
			if rest == "" && field.Value.Node == nil {
				return field.Key
			}
			return find(field.Value, rest)
		}
	}
	return n
}
