// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compiler

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/scope"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// poolSkew is the number of minor versions that a pool's kubelets may be older than the control plane (gardener:
// pkg/apis/core/validation, as Kubernetes' version skew policy).
const poolSkew = 3

// mostPatches limits the versions for which each condition is evaluated. Versions of other software may look like
// versions of Kubernetes.
const mostPatches = 64

// versionView provides the variables of a profile if only the version of Kubernetes is known.
type versionView struct {
	minor   kubeflags.Minor
	partial *expression.Partial
}

// versionCheck compares the writes of one rule with the table of versions.
type versionCheck struct {
	*profileCompiler

	component string
	// variable is the variable with the component's version in its field kubernetes.
	variable string
	versions []kubeflags.Minor
	findings source.Findings
}

var patchVersion = regexp.MustCompile(`\b1\.\d+\.(\d+)`)

// versionsOfRule returns the versions in the table in which the component may run when the rule applies: those that the
// profile supports and for which the condition may be true. It returns none for components missing in the table and for
// the older generation, because all its versions are older than the table.
func versionsOfRule(c *profileCompiler, r *mutation.Rule) []kubeflags.Minor {
	if c.options.Generation == contract.Labelled || !slices.Contains(kubeflags.Components(), r.Target.Component) {
		return nil
	}
	var versions []kubeflags.Minor
	for _, view := range viewsOfVersions(c, r.Target) {
		if view.minor >= kubeflags.Versions()[0] && !slices.Contains(versions, view.minor) && (r.When == nil || !view.partial.False(r.When)) {
			versions = append(versions, view.minor)
		}
	}
	return versions
}

// viewsOfVersions returns a view of each version that the component of a target may have, oldest first. A pool may be
// older than the table. It creates the views once for each variable that holds the version.
func viewsOfVersions(c *profileCompiler, t *target.Target) []versionView {
	variable := versionVariable(t)
	if known, ok := c.views[variable]; ok {
		return known
	}
	var views []versionView
	add := func(known *expression.Partial, minor kubeflags.Minor, patch int) {
		views = append(views, versionView{minor, withVariables(c.scope, knowVersion(known, variable, minor, patch))})
	}
	nothing, patches := c.scope.Environment.Partial(), patchesIn(c.document.Node.Node)
	for _, minor := range kubeflags.Versions() {
		for _, patch := range patches {
			switch {
			case !servesVersion(c, variable, minor, patch):
			case variable != "pool":
				add(nothing, minor, patch)
			default:
				shoot := knowVersion(nothing, "shoot", minor, patch)
				for skew := range kubeflags.Minor(poolSkew + 1) {
					add(shoot, minor-skew, patch)
				}
			}
		}
	}
	slices.SortStableFunc(views, func(a, b versionView) int { return cmp.Compare(a.minor, b.minor) })
	c.views[variable] = views
	return views
}

// versionVariable returns the variable that holds the version of a target's component in its field kubernetes.
func versionVariable(t *target.Target) string {
	switch {
	case t.Garden:
		return "garden"
	case t.Component == "kubelet":
		return "pool"
	default:
		return "shoot"
	}
}

// servesVersion reports whether control planes of a version exist: the installation serves it and, for shoots, the
// profile supports it.
func servesVersion(c *profileCompiler, variable string, minor kubeflags.Minor, patch int) bool {
	if o := c.options.Kubernetes; o != nil && !o.Check(semver.New(1, uint64(minor), uint64(patch), "", "")) {
		return false
	}
	return variable == "garden" || c.document.Supports(fmt.Sprintf("%s.%d", minor, patch))
}

func knowVersion(p *expression.Partial, variable string, minor kubeflags.Minor, patch int) *expression.Partial {
	version, _ := expression.ParseVersion(fmt.Sprintf("%s.%d", minor, patch)) // always valid
	return p.With(variable, "kubernetes", version)
}

// withVariables adds the variables of the profile that can be derived from the known values.
func withVariables(s *scope.Scope, p *expression.Partial) *expression.Partial {
	for _, v := range s.Variables {
		if v.Template == nil {
			continue
		}
		if value, ok := p.Value(v.Template); ok {
			p = p.With(scope.VariablesName, v.Name, value)
		}
	}
	return p
}

// patchesIn returns the patch versions at which conditions of a document can change: the first, the last, and the
// neighbours of every patch that it contains.
func patchesIn(n *yaml.Node) []int {
	patches := []int{0, 999}
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		if n == nil {
			return
		}
		for _, match := range patchVersion.FindAllStringSubmatch(n.Value, -1) {
			if patch, err := strconv.Atoi(match[1]); err == nil && patch < 1000 && len(patches) < mostPatches {
				patches = append(patches, max(patch-1, 0), patch, patch+1)
			}
		}
		for _, child := range n.Content {
			visit(child)
		}
	}
	visit(n)
	slices.Sort(patches)
	return slices.Compact(patches)
}

// checkVersions reports the flags, feature gates, admission plugins and kubelet configuration fields in writes of a
// rule that are missing in a version of Kubernetes to which the rule may apply.
func checkVersions(c *profileCompiler, r *mutation.Rule) source.Findings {
	versions := versionsOfRule(c, r)
	if len(versions) == 0 {
		return nil
	}
	check := versionCheck{profileCompiler: c, component: r.Target.Component, variable: versionVariable(r.Target), versions: versions}
	for i := range r.Writes {
		write := &r.Writes[i]
		if r.ForEach != nil && computes(r.ForEach, write.Place.Name) {
			continue
		}
		own := write.Place.Container == r.Target.Container
		switch {
		case own && write.Place.Kind == operation.FeatureGate:
			check.gate(write)
		case own && write.Place.Kind == operation.AdmissionPlugin:
			check.plugin(write)
		case own && mutation.FlagOf(write.Place) != "":
			check.flag(write, mutation.FlagOf(write.Place))
		case write.Place.Kind == operation.KubeletField:
			check.field(write, write.Place.Name, write.Value.Known())
		}
	}
	return check.findings
}

// computes reports whether a rule with forEach computes a name and uses a sample for it.
func computes(f *mutation.ForEach, name string) bool {
	for _, sample := range f.Samples() {
		if strings.Contains(name, sample.Value) {
			return true
		}
	}
	return false
}

func (c *versionCheck) flag(write *operation.Write, name string) {
	history, known := kubeflags.Flag(c.component, name)
	flag := versionedName{UnknownFlag, name, "flag --" + name, known, history.In, history.Span.String(), "", kubeflags.Flags(c.component, c.newest())}
	if former, gone := kubeflags.Former(c.component, name); gone {
		flag.former = former.String()
	}
	if c.isMissing(write, flag) || removes(write) {
		return
	}
	if value, ok := write.Value.Constant(); ok && write.Place.Kind == operation.Flag {
		if problem := history.Check(value.Texts); problem != "" {
			c.refuse(FlagValue, write, "--%s %s", name, problem)
		}
	}
	if deprecated := slices.DeleteFunc(slices.Clone(c.versions), func(m kubeflags.Minor) bool { return !history.DeprecatedIn(m) }); len(deprecated) > 0 {
		c.warn(Deprecated, write.At, write.Path, "--%s of %s is deprecated in Kubernetes %s: %s", name, c.component, list(deprecated), history.Message)
	}
}

// newest returns the newest version of the rule.
func (c *versionCheck) newest() kubeflags.Minor { return c.versions[len(c.versions)-1] }

func (c *versionCheck) gate(write *operation.Write) {
	name := write.Place.Name
	history, known := kubeflags.Gate(c.component, name)
	gate := versionedName{UnknownGate, name, "feature gate " + name, known, history.In, "it is " + history.String(), "", kubeflags.Gates(c.component, c.newest())}
	if c.isMissing(write, gate) || removes(write) {
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
		c.warn(Deprecated, write.At, write.Path, "the feature gate %s of %s is deprecated in Kubernetes %s", name, c.component, list(deprecated))
	}
}

// plugin checks an admission plugin that a rule enables or disables: kube-apiserver does not start with a name that it does
// not know in either list.
func (c *versionCheck) plugin(write *operation.Write) {
	name := write.Place.Name
	history, known := kubeflags.Plugin(name)
	plugin := versionedName{UnknownPlugin, name, "admission plugin " + name, known, history.In, history.Span.String(), "", kubeflags.Plugins(c.newest())}
	if former, gone := kubeflags.FormerPlugin(name); gone {
		plugin.former = former.String()
	}
	c.isMissing(write, plugin)
}

// versionedName is a name that only some versions of Kubernetes know.
type versionedName struct {
	rule source.LintRule
	name string
	// what describes the name.
	what string
	// known reports that some version in the table knows the name, and in which ones do. history describes them.
	known   bool
	in      func(kubeflags.Minor) bool
	history string
	// former is the last version that knew the name, if it is older than the table; empty otherwise.
	former string
	// names are the names that the newest version knows.
	names []string
}

// isMissing reports a name that is missing in a version of the rule, or that a rule removes although no version has had
// it. Feature gates and plugins are added and removed, so that a rule may remove one of a former version: it warns only
// of a probable typo.
func (c *versionCheck) isMissing(write *operation.Write, n versionedName) bool {
	if removes(write) {
		never, suggestion := fmt.Sprintf("%s has had no %s since Kubernetes %s", c.component, n.what, kubeflags.Versions()[0]), source.Suggest(n.name, n.names)
		switch {
		case n.known || n.former != "":
		case n.rule == UnknownFlag:
			c.misspelt(n.rule, write, n.name, n.names, "%s", never)
		case suggestion != "":
			c.warn(n.rule, write.At, write.Path, "%s%s", never, suggestion)
		}
		return false
	}
	missing := c.versions
	if n.known {
		missing = c.without(n.in)
	}
	if len(missing) == 0 {
		return false
	}
	lacks := fmt.Sprintf("%s of Kubernetes %s knows no %s, and does not start with it", c.component, list(missing), n.what)
	if n.rule == UnknownFlag {
		lacks = fmt.Sprintf("%s of Kubernetes %s has no %s", c.component, list(missing), n.what)
	}
	switch {
	case n.known:
		c.refuse(n.rule, write, "%s: %s%s", lacks, n.history, c.narrow(n.in))
	case n.former != "":
		c.refuse(n.rule, write, "%s: %s was the last version that had it", lacks, n.former)
	default:
		c.misspelt(n.rule, write, n.name, n.names, "%s", lacks)
	}
	return true
}

// field checks a field of the kubelet's configuration with the known parts of its value.
func (c *versionCheck) field(write *operation.Write, path string, value any) {
	history, known := kubeflags.Field(path)
	if !known {
		above, name := "", path
		if i := strings.LastIndexByte(path, '.'); i >= 0 {
			above, name = path[:i], path[i+1:]
		}
		c.misspelt(operation.UnknownKubeletField, write, name, kubeflags.Fields(above, c.newest()),
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

// without returns the versions of the rule for which a predicate is false.
func (c *versionCheck) without(holds func(kubeflags.Minor) bool) []kubeflags.Minor {
	return slices.DeleteFunc(slices.Clone(c.versions), holds)
}

// narrow returns a condition that limits the rule to the versions for which a predicate is true.
func (c *versionCheck) narrow(holds func(kubeflags.Minor) bool) string {
	all := kubeflags.Versions()
	if !slices.ContainsFunc(all, holds) {
		return ""
	}
	var ranges []string
	for i, m := range all[1:] {
		switch before := holds(all[i]); {
		case holds(m) && !before:
			ranges = append(ranges, ">= "+m.String())
		case !holds(m) && before && ranges != nil:
			ranges[len(ranges)-1] += ", < " + m.String()
		case !holds(m) && before:
			ranges = append(ranges, "< "+m.String())
		}
	}
	return fmt.Sprintf("; restrict the rule to versions with when: ${ %s.kubernetes.satisfies(%q) }", c.variable, strings.Join(ranges, " || "))
}

func (c *versionCheck) refuse(rule source.LintRule, write *operation.Write, format string, arguments ...any) {
	c.findings = append(c.findings, write.At.Finding(write.Path, format, arguments...).Of(rule))
}

// misspelt reports an unknown name, with the most similar known one.
func (c *versionCheck) misspelt(rule source.LintRule, write *operation.Write, name string, known []string, format string, arguments ...any) {
	c.refuse(rule, write, format+"%s", append(arguments, source.Suggest(name, known))...)
	if scalar := c.document.Node.Naming(write.At, name); scalar.Node != nil {
		last := &c.findings[len(c.findings)-1]
		last.Position = scalar.Position()
		*last = last.Instead(scalar, known)
	}
}

func removes(write *operation.Write) bool {
	value, ok := write.Value.Constant()
	return ok && value.Absent
}

// list formats versions, with ranges for consecutive ones.
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
