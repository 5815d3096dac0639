// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// The purposes of OperatingSystemConfigs (gardener: pkg/apis/extensions/v1alpha1, OperatingSystemConfigPurpose).
const reconcile, provision = "reconcile", "provision"

var knownPurposes = []string{reconcile, provision}

// purposesOf are the purposes to which a rule of the node side applies; nil for targets without.
func purposesOf(t *target.Target, r v1alpha1.Rule) ([]string, source.Findings) {
	path := r.Path + ".purposes"
	if r.Purposes.Absent() {
		if t.Purposed {
			return knownPurposes[:1], nil
		}
		return nil, nil
	}
	if !t.Purposed {
		return nil, source.Findings{r.Purposes.Finding(path, "only kubelet and node have purposes").Of(operation.WrongTarget)}
	}
	var purposes []string
	findings := source.Decode(r.Purposes, path, &purposes)
	for _, purpose := range purposes {
		if !slices.Contains(knownPurposes, purpose) {
			findings = append(findings, r.Purposes.Finding(path, "unknown purpose %q%s: reconcile or provision", purpose, source.Suggest(purpose, knownPurposes)).
				Of(source.WrongValue))
		}
	}
	if len(purposes) == 0 && len(findings) == 0 {
		findings = source.Findings{r.Purposes.Finding(path, "names no purpose").Of(source.MissingField)}
	}
	return purposes, findings
}

// misses says why the rule does not concern an object; empty when it does.
func (r *rule) misses(o *target.Object) string { return r.missesIn(o.Form, o.Purpose(), o) }

// missesIn is misses for an object of the form and the purpose.
func (r *rule) missesIn(of *target.Form, purpose string, o interface{ HasKubelet() bool }) string {
	for i := range r.target.Forms {
		form := &r.target.Forms[i]
		if form.Kind != of.Kind || form.Group != of.Group {
			continue
		}
		if !form.Has(r.operation.Parts) {
			break
		}
		if r.purposes != nil && !slices.Contains(r.purposes, purpose) {
			return fmt.Sprintf("the purpose is %q", purpose)
		}
		if r.target.Component == "kubelet" && purpose == provision && !o.HasKubelet() {
			return "there is no kubelet in it"
		}
		return ""
	}
	return fmt.Sprintf("%s has no part for %s", of, r.operation.Name)
}

// usable lists the operations that can be used on a target.
func usable(t *target.Target) string {
	var names []string
	for _, definition := range operation.All() {
		if definition.On(t) {
			names = append(names, definition.Name)
		}
	}
	return strings.Join(names, ", ")
}
