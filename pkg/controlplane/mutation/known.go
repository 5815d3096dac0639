// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// unknownTo are the variables that are never known where an object of a target is admitted, and where they are.
func unknownTo(t *target.Target) map[string]string {
	const ofShoots = "the target %s is of a virtual garden, where there is no shoot"
	switch {
	case t.Garden:
		said := fmt.Sprintf(ofShoots, t.Name)
		return map[string]string{"shoot": said, "seed": said, "cloudProfile": said, "pool": said}
	case t.Purposed || t.Other:
		return map[string]string{"garden": "only the targets of a virtual garden know it"}
	default:
		return map[string]string{"garden": "only the targets of a virtual garden know it", "pool": "only the targets kubelet and node know it"}
	}
}

// seenBy is what expressions of rules for a target see. It is made once for all targets that are alike.
func (c *profileCompiler) seenBy(t *target.Target) *expression.Environment {
	like := [2]bool{t.Garden, t.Purposed || t.Other}
	if known := c.seen[like]; known != nil {
		return known
	}
	environment, err := c.scope.environment.Without(unknownTo(t))
	if err != nil {
		environment = c.scope.environment // which is built of the same
	}
	if c.seen == nil {
		c.seen = map[[2]bool]*expression.Environment{}
	}
	c.seen[like] = environment
	return environment
}

// notKnown finds variables and lookups of the profile that a rule uses and that need what its target does not know. What a variable
// names in some cases only may be right, as these may tell targets apart.
func (c *profileCompiler) notKnown(r *rule, from v1alpha1.Rule) source.Findings {
	elsewhere := unknownTo(r.target)
	var findings source.Findings
	seen := map[string]bool{}
	var visit func(references []string, through string, at source.Position)
	visit = func(references []string, through string, at source.Position) {
		for _, reference := range references {
			root, rest, _ := strings.Cut(reference, ".")
			name, _, _ := strings.Cut(rest, ".")
			key := root + "." + name
			if where := elsewhere[root]; where != "" && through != "" && !seen["in "+through] {
				seen["in "+through] = true
				findings = append(findings, from.At.Finding(r.path, "%s (%s) needs '%s', which %s does not know; %s", through, at, root, r.target.Name, where).
					Of(expression.UnknownName))
			}
			if seen[key] {
				continue
			}
			seen[key] = true
			switch root {
			case variablesName:
				if v := c.scope.variableOf[name]; v != nil && v.template != nil {
					visit(v.template.Certain(), key, v.node.Position())
				}
			case lookupsName:
				if i := slices.IndexFunc(c.scope.lookups, func(l *lookup) bool { return l.request.Name == name }); i >= 0 {
					visit(c.scope.lookups[i].certain(), key, c.scope.lookups[i].at)
				}
			}
		}
	}
	visit(r.references(), "", source.Position{})
	return findings
}

// certain are the references that the name of the object needs in each case.
func (l *lookup) certain() []string {
	var references []string
	for _, template := range []*expression.Template{l.name, l.namespace} {
		if template != nil {
			references = append(references, template.Certain()...)
		}
	}
	return references
}
