// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Warnings are what the profiles may say but should not much longer: flags that Kubernetes deprecates, gates that are gone.
func (p *Program) Warnings() source.Findings { return p.warnings }

// kubernetes finds the flags, feature gates, admission plugins and kubelet configuration fields that a rule writes and that a version of Kubernetes
// in which the rule may apply does not have.
func (c *profileCompiler) kubernetes(r *rule) source.Findings {
	versions := c.versionsOf(r)
	if len(versions) == 0 {
		return nil
	}
	check := versionCheck{component: r.target.Component, variable: "shoot", versions: versions, document: c.document.Node}
	switch {
	case r.target.Garden:
		check.variable = "garden"
	case r.target.Component == "kubelet":
		check.variable = "pool"
	}
	for i := range r.writes {
		write := &r.writes[i]
		if r.family != nil && r.family.computes(write.Place.Name) {
			continue
		}
		own := write.Place.Container == r.target.Container
		switch {
		case own && write.Place.Kind == operation.FeatureGate:
			check.gate(write)
		case own && write.Place.Kind == operation.AdmissionPlugin:
			check.plugin(write)
		case own && flagOf(write.Place) != "":
			check.flag(write, flagOf(write.Place))
		case write.Place.Kind == operation.KubeletField:
			check.field(write, write.Place.Name, write.Value.Known())
		}
	}
	c.program.warnings = append(c.program.warnings, check.warnings...)
	return check.findings
}

// computes says whether a name is one that the family computes, for which a sample stands.
func (f *family) computes(name string) bool {
	for _, sample := range f.samples() {
		if strings.Contains(name, sample.Value) {
			return true
		}
	}
	return false
}

// versionCheck holds the writes of one rule against the table.
type versionCheck struct {
	component string
	// variable is the one whose field kubernetes is the version of the component.
	variable string
	versions []kubeflags.Minor
	document source.Node
	findings source.Findings
	warnings source.Findings
}

func (c *versionCheck) flag(write *operation.Write, name string) {
	history, known := kubeflags.Flag(c.component, name)
	former, gone := kubeflags.Former(c.component, name)
	if removes(write) {
		if !known && !gone {
			c.misspelt(UnknownFlag, write, name, c.flags(), "%s has had no flag --%s since Kubernetes %s", c.component, name, kubeflags.Versions()[0])
		}
		return
	}
	missing := c.without(history.In)
	switch {
	case known && len(missing) == 0:
	case known:
		c.refuse(UnknownFlag, write, "%s of Kubernetes %s has no flag --%s: %s%s", c.component, list(missing), name, history.Span, c.narrow(history.In))
		return
	case gone:
		c.refuse(UnknownFlag, write, "%s of Kubernetes %s has no flag --%s: it went before; %s had it", c.component, list(c.versions), name, former)
		return
	default:
		c.misspelt(UnknownFlag, write, name, c.flags(), "%s of Kubernetes %s has no flag --%s", c.component, list(c.versions), name)
		return
	}
	if value, ok := write.Value.Constant(); ok && write.Place.Kind == operation.Flag {
		if problem := history.Check(value.Texts); problem != "" {
			c.refuse(FlagValue, write, "--%s %s", name, problem)
		}
	}
	if deprecated := slices.DeleteFunc(slices.Clone(c.versions), func(m kubeflags.Minor) bool { return !history.DeprecatedIn(m) }); len(deprecated) > 0 {
		c.warn(Deprecated, write, "--%s of %s is deprecated in Kubernetes %s: %s", name, c.component, list(deprecated), history.Message)
	}
}

// flags are the flags of the newest version.
func (c *versionCheck) flags() []string {
	return kubeflags.Flags(c.component, c.versions[len(c.versions)-1])
}

// gates are the feature gates of the newest version.
func (c *versionCheck) gates() []string {
	return kubeflags.Gates(c.component, c.versions[len(c.versions)-1])
}

func (c *versionCheck) gate(write *operation.Write) {
	name := write.Place.Name
	history, known := kubeflags.Gate(c.component, name)
	if removes(write) {
		// Gates come and go, and a profile may clean up after versions that had one: only what looks like a slip is worth a word.
		if suggestion := source.Suggest(name, c.gates()); !known && suggestion != "" {
			c.warn(UnknownGate, write, "%s has had no feature gate %s since Kubernetes %s%s", c.component, name, kubeflags.Versions()[0], suggestion)
		}
		return
	}
	if !known {
		c.misspelt(UnknownGate, write, name, c.gates(), "%s of Kubernetes %s knows no feature gate %s, and does not start with it",
			c.component, list(c.versions), name)
		return
	}
	if missing := c.without(history.In); len(missing) > 0 {
		c.refuse(UnknownGate, write, "%s of Kubernetes %s knows no feature gate %s, and does not start with it: it is %s%s",
			c.component, list(missing), name, history, c.narrow(history.In))
		return
	}
	value, constant := write.Value.Constant()
	takes := func(m kubeflags.Minor) bool {
		state := history[m]
		return !state.Locked || !constant || fmt.Sprint(state.Default) == value.Text()
	}
	if locked := c.without(takes); len(locked) > 0 {
		c.refuse(UnknownGate, write, "%s of Kubernetes %s does not start with %s=%s: the feature gate is %s%s",
			c.component, list(locked), name, value.Text(), history, c.narrow(func(m kubeflags.Minor) bool { return history.In(m) && takes(m) }))
		return
	}
	if deprecated := c.without(func(m kubeflags.Minor) bool { return history[m].Stage != kubeflags.Deprecated }); len(deprecated) > 0 {
		c.warn(Deprecated, write, "the feature gate %s of %s is deprecated in Kubernetes %s", name, c.component, list(deprecated))
	}
}

// plugin checks an admission plugin that a rule enables or disables: kube-apiserver does not start with a name that it does
// not know in either list.
func (c *versionCheck) plugin(write *operation.Write) {
	name, newest := write.Place.Name, c.versions[len(c.versions)-1]
	history, known := kubeflags.Plugin(name)
	former, gone := kubeflags.FormerPlugin(name)
	missing := c.without(history.In)
	switch {
	case removes(write):
		if suggestion := source.Suggest(name, kubeflags.Plugins(newest)); !known && !gone && suggestion != "" {
			c.warn(UnknownPlugin, write, "%s has had no admission plugin %s since Kubernetes %s%s", c.component, name,
				kubeflags.Versions()[0], suggestion)
		}
	case gone:
		c.refuse(UnknownPlugin, write, "%s of Kubernetes %s knows no admission plugin %s, and does not start with it: %s was the last that had it",
			c.component, list(c.versions), name, former)
	case !known:
		c.misspelt(UnknownPlugin, write, name, kubeflags.Plugins(newest), "%s of Kubernetes %s knows no admission plugin %s, and does not start with it",
			c.component, list(c.versions), name)
	case len(missing) > 0:
		c.refuse(UnknownPlugin, write, "%s of Kubernetes %s knows no admission plugin %s, and does not start with it: %s%s",
			c.component, list(missing), name, history.Span, c.narrow(history.In))
	}
}

// field checks a field of the kubelet's configuration and what is known of the value below it.
func (c *versionCheck) field(write *operation.Write, path string, value any) {
	history, known := kubeflags.Field(path)
	if !known {
		above, name := "", path
		if i := strings.LastIndexByte(path, '.'); i >= 0 {
			above, name = path[:i], path[i+1:]
		}
		c.misspelt(operation.UnknownKubeletField, write, name, kubeflags.Fields(above, c.versions[len(c.versions)-1]),
			"a KubeletConfiguration of Kubernetes %s has no field %s", list(c.versions), path)
		return
	}
	if missing := c.without(history.In); len(missing) > 0 && !removes(write) {
		c.refuse(operation.UnknownKubeletField, write, "a KubeletConfiguration of Kubernetes %s has no field %s: %s%s", list(missing), path, history.Span, c.narrow(history.In))
		return
	}
	switch below := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(below)) {
			switch history.Kind {
			case "object":
				c.field(write, path+"."+name, below[name])
			case "map":
				c.field(write, path+"{}", below[name])
			}
		}
	case []any:
		for _, inner := range below {
			if history.Kind == "list" {
				c.field(write, path+"[]", inner)
			}
		}
	}
}

// without are the versions of the rule for which something does not hold.
func (c *versionCheck) without(holds func(kubeflags.Minor) bool) []kubeflags.Minor {
	return slices.DeleteFunc(slices.Clone(c.versions), holds)
}

// join writes bounds as a constraint: a lower bound after an upper one begins another range.
func join(bounds []string) string {
	var out strings.Builder
	for i, bound := range bounds {
		switch {
		case i > 0 && strings.HasPrefix(bound, ">"):
			out.WriteString(" || ")
		case i > 0:
			out.WriteString(", ")
		}
		out.WriteString(bound)
	}
	return out.String()
}

// narrow says by which condition the rule would apply to the versions only for which something holds.
func (c *versionCheck) narrow(holds func(kubeflags.Minor) bool) string {
	all := kubeflags.Versions()
	if !slices.ContainsFunc(all, holds) {
		return ""
	}
	var bounds []string
	for i, m := range all {
		switch before := i > 0 && holds(all[i-1]); {
		case holds(m) && !before && i > 0:
			bounds = append(bounds, ">= "+m.String())
		case !holds(m) && before:
			bounds = append(bounds, "< "+m.String())
		}
	}
	return fmt.Sprintf("; say in when for which versions the rule is: ${ %s.kubernetes.satisfies(%q) }", c.variable, join(bounds))
}

func (c *versionCheck) refuse(rule source.Rule, write *operation.Write, format string, arguments ...any) {
	c.findings = append(c.findings, write.At.Finding(write.Path, format, arguments...).Of(rule))
}

// misspelt refuses a name that does not exist, with the known one that is near.
func (c *versionCheck) misspelt(rule source.Rule, write *operation.Write, name string, known []string, format string, arguments ...any) {
	c.refuse(rule, write, format+"%s", append(arguments, source.Suggest(name, known))...)
	if scalar := c.document.Naming(write.At, name); scalar.Node != nil {
		last := &c.findings[len(c.findings)-1]
		*last = last.Instead(scalar, known)
	}
}

func (c *versionCheck) warn(rule source.Rule, write *operation.Write, format string, arguments ...any) {
	c.warnings = append(c.warnings, write.At.Finding(write.Path, format, arguments...).Of(rule).Warn())
}

func removes(write *operation.Write) bool {
	value, ok := write.Value.Constant()
	return ok && value.Absent
}

// list writes versions, those that follow each other as a range.
func list(versions []kubeflags.Minor) string {
	var words []string
	for i := 0; i < len(versions); i++ {
		first := i
		for i+1 < len(versions) && versions[i+1] == versions[i]+1 {
			i++
		}
		switch i - first {
		case 0:
			words = append(words, versions[i].String())
		case 1:
			words = append(words, versions[first].String(), versions[i].String())
		default:
			words = append(words, fmt.Sprintf("%s to %s", versions[first], versions[i]))
		}
	}
	if len(words) == 2 {
		return words[0] + " and " + words[1]
	}
	return strings.Join(words, ", ")
}
