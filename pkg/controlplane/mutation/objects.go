// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// anyName is what selections for other objects of any name are kept by; a name with a * behind is that of a beginning.
const anyName = "*"

// otherTarget makes the target of an entry of objects.
func otherTarget(entry v1alpha1.TargetRules, at string) (*target.Target, source.Findings) {
	o := entry.Objects
	var findings source.Findings
	add := func(rule source.Rule, field, format string, arguments ...any) {
		findings = append(findings, nodeAt(entry.At, field).Finding(at+"."+field, format, arguments...).Of(rule))
	}
	version, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil || version.Version == "" {
		rule := source.WrongValue
		if o.APIVersion == "" {
			rule = source.MissingField
		}
		add(rule, "apiVersion", "must be that of the objects, such as v1 or apps/v1, is %q", o.APIVersion)
	}
	if o.Kind == "" {
		add(source.MissingField, "kind", "is missing")
	}
	prefix, isPrefix := strings.CutSuffix(o.Name, "*")
	switch problems := path.IsValidPathSegmentName(prefix); {
	case o.Name == anyName:
		add(source.WrongValue, "name", "leave it out for objects of any name")
		findings[len(findings)-1] = findings[len(findings)-1].Without(nodeAt(entry.At, "name"))
	case strings.Contains(prefix, "*") || len(problems) > 0:
		add(source.InvalidName, "name", "must be a name, or the beginning of one and a * behind, is %q", o.Name)
	}
	if len(entry.Rules) == 0 {
		add(source.MissingField, "rules", "is missing: what is to be done with the objects")
	}
	form := target.Form{Group: version.Group, Version: version.Version, Kind: o.Kind, Name: o.Name, Resource: o.Resource}
	if form.Resource == "" {
		form.Resource = strings.ToLower(o.Kind) + "s"
	}
	if t := contracted(form, isPrefix); t != nil && len(findings) == 0 {
		add(operation.WrongTarget, "name", "%s is the target %s of the contract; its rules stand there", form, t.Name)
	}
	if form.Version == "" || form.Kind == "" {
		return nil, findings
	}
	return target.Other(form), findings
}

// contracted is the target of the contract that objects of a form always are; nil when there is none.
func contracted(form target.Form, isPrefix bool) *target.Target {
	name := form.Name
	if isPrefix {
		name = ""
	}
	t, _ := target.Match(false, form.Group, form.Kind, name)
	return t
}

// addOther puts the rules for other objects behind those that other profiles have for the same.
func (c *profileCompiler) addOther(key scopeKey, entry v1alpha1.TargetRules, t *target.Target, rules []*rule, at string) {
	form := &t.Forms[0]
	for _, known := range c.program.others {
		if known.Group == form.Group && known.Kind == form.Kind && (known.Version != form.Version || known.Resource != form.Resource) {
			c.findings = append(c.findings, entry.At.Finding(at, "%s is %s/%s %s elsewhere; all rules for a kind must name the same version and resource",
				form.Kind, known.Group, known.Version, known.Resource).Of(Conflict))
			return
		}
	}
	c.program.others = append(c.program.others, form)
	forms := c.program.formsOf(key)
	place := formKey{form.Group, form.Kind, cmp.Or(form.Name, anyName)}
	if forms[place] == nil {
		forms[place] = &selection{target: t, form: form}
	}
	forms[place].rules = append(forms[place].rules, rules...)
}

// unnamedContainers finds writes into a container where the contract names none.
func unnamedContainers(r *rule) source.Findings {
	var findings source.Findings
	for _, write := range r.writes {
		switch write.Place.Kind {
		case operation.Flag, operation.FeatureGate, operation.ListFlagItem, operation.MapFlagEntry, operation.AdmissionPlugin, operation.Env,
			operation.VolumeMount:
			if r.target.Other && write.Place.Container == "" {
				findings = append(findings, write.At.Finding(write.Path, "a container must be named, as the contract requires none in %s", r.target.Name).Of(UnnamedContainer))
			}
		}
	}
	return findings
}

// inherit gives each selection of other objects the rules of those that are wider: first those for any name, then the longer
// and longer beginnings, last its own, so that the more exact rule wins.
func (p *Program) inherit() {
	for _, forms := range p.scopes {
		merged := map[formKey][]*rule{}
		for at, selected := range forms {
			if selected.target.Other {
				merged[at] = inherited(forms, at)
			}
		}
		for at, rules := range merged {
			forms[at].rules = rules
		}
	}
}

func inherited(forms map[formKey]*selection, of formKey) []*rule {
	var wider []formKey
	for at := range forms {
		prefix, isPrefix := strings.CutSuffix(at.name, "*")
		if at.group == of.group && at.kind == of.kind && (at == of || isPrefix && strings.HasPrefix(of.name, prefix)) {
			wider = append(wider, at)
		}
	}
	slices.SortFunc(wider, func(a, b formKey) int {
		if a == of || b == of {
			return cmp.Compare(isSame(a, of), isSame(b, of))
		}
		return cmp.Compare(len(a.name), len(b.name))
	})
	var rules []*rule
	for _, at := range wider {
		rules = append(rules, forms[at].rules...)
	}
	return rules
}

func isSame(a, b formKey) int {
	if a == b {
		return 1
	}
	return 0
}

// longest finds what is to be done with an object that is no target of the contract: of the selections whose name begins the
// object's, that with the longest.
func longest(forms map[formKey]*selection, r Request) *selection {
	if t, _ := target.Match(r.Garden, r.Group, r.Kind, r.Name); t != nil {
		return nil
	}
	var (
		found  *selection
		length = -1
	)
	for at, selected := range forms {
		prefix, isPrefix := strings.CutSuffix(at.name, "*")
		if isPrefix && at.group == r.Group && at.kind == r.Kind && len(prefix) > length && strings.HasPrefix(r.Name, prefix) {
			found, length = selected, len(prefix)
		}
	}
	return found
}
