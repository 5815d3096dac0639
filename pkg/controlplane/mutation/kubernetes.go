// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// poolSkew is by how many minor versions the kubelets of a pool may be older than the control plane (gardener:
// pkg/apis/core/validation, as Kubernetes' version skew policy).
const poolSkew = 3

// versionView is what the expressions of a profile see when nothing but the version of Kubernetes is known.
type versionView struct {
	minor   kubeflags.Minor
	partial *expression.Partial
}

// versionsOf are the versions in the table in which the component of a rule may run when the rule applies: those that the
// profile supports and for which the condition is not false whatever else is known. None for components that the table does not
// know, and for the older generation, whose versions are all older than the table.
func (c *profileCompiler) versionsOf(r *rule) []kubeflags.Minor {
	if c.options.Generation == contract.Labelled || !slices.Contains(kubeflags.Components(), r.target.Component) {
		return nil
	}
	var versions []kubeflags.Minor
	for _, view := range c.versionViews(r.target) {
		if view.minor >= kubeflags.Versions()[0] && !slices.Contains(versions, view.minor) && (r.when == nil || !view.partial.False(r.when)) {
			versions = append(versions, view.minor)
		}
	}
	return versions
}

// versionViews are the views of all versions, for pools some older than the table too, oldest first, made once for each variable that holds the version.
func (c *profileCompiler) versionViews(t *target.Target) []versionView {
	variable := "shoot"
	switch {
	case t.Garden:
		variable = "garden"
	case t.Component == "kubelet":
		variable = "pool"
	}
	if known, ok := c.views[variable]; ok {
		return known
	}
	var (
		views   []versionView
		partial = c.scope.environment.Partial()
		patches = patchesIn(c.document.Node.Node)
	)
	for _, minor := range versionsSeen(variable) {
		for _, patch := range patches {
			own := knowVersion(partial, variable, minor, patch)
			if variable != "pool" && c.serves(variable, minor, patch) {
				views = append(views, versionView{minor, c.scope.knowVariables(own)})
			}
			for skew := range kubeflags.Minor(poolSkew + 1) {
				if variable == "pool" && minor+skew >= kubeflags.Versions()[0] && c.serves("shoot", minor+skew, patch) {
					views = append(views, versionView{minor, c.scope.knowVariables(knowVersion(own, "shoot", minor+skew, patch))})
				}
			}
		}
	}
	if c.views == nil {
		c.views = map[string][]versionView{}
	}
	c.views[variable] = views
	return views
}

// versionsSeen are the versions in the table and, for pools, those that a pool of a shoot in the table may have besides.
func versionsSeen(variable string) []kubeflags.Minor {
	versions := kubeflags.Versions()
	for range poolSkew {
		if variable == "pool" {
			versions = slices.Insert(versions, 0, versions[0]-1)
		}
	}
	return versions
}

// serves says whether there are control planes of a version: whether the installation has it and, for shoots, the profile supports it.
func (c *profileCompiler) serves(variable string, minor kubeflags.Minor, patch int) bool {
	if o := c.options.Kubernetes; o != nil && !o.Check(semver.New(1, uint64(minor), uint64(patch), "", "")) {
		return false
	}
	return variable == "garden" || c.document.Supports(fmt.Sprintf("%s.%d", minor, patch))
}

func knowVersion(p *expression.Partial, variable string, minor kubeflags.Minor, patch int) *expression.Partial {
	version, err := expression.ParseVersion(fmt.Sprintf("%s.%d", minor, patch))
	if err != nil {
		return p
	}
	return p.With(variable, "kubernetes", version)
}

// knowVariables adds the variables of the profile that follow from what is known.
func (s *scope) knowVariables(p *expression.Partial) *expression.Partial {
	for _, v := range s.variables {
		if v.template == nil {
			continue
		}
		if value, ok := p.Value(v.template); ok {
			p = p.With(variablesName, v.name, value)
		}
	}
	return p
}

var patchVersion = regexp.MustCompile(`\b1\.\d+\.(\d+)`)

// mostPatches bounds them: every condition is evaluated for each, and versions of other things may look like Kubernetes'.
const mostPatches = 64

// patchesIn are the patch versions at which the conditions of a document can change: the first, the last, and those around every
// patch that it names.
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
