// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/scope"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// The purposes of OperatingSystemConfigs (gardener: pkg/apis/extensions/v1alpha1, OperatingSystemConfigPurpose).
const reconcile, provision = "reconcile", "provision"

// Rule is a compiled rule.
type Rule struct {
	// number identifies the rule in its program.
	number    int
	Target    *target.Target
	Purposes  []string
	Profile   string
	Name      string
	Position  source.Position
	Path      string
	Operation operation.Definition
	When      *expression.Expression
	WhenText  string // as written; empty with forEach, where it differs for each item
	Writes    []operation.Write
	// Keep means that places keep the values of the old object on UPDATE.
	Keep bool
	// Observed is true if the rule is computed but not applied.
	Observed bool
	// Override means that the rule gave a reason for writing a reserved place.
	Override bool
	Scope    *scope.Scope
	// ForEach is set for a rule with forEach, with samples as writes; Item is set for the rule of one item.
	ForEach *ForEach
	Item    string
	// whole is the rule with forEach that an item's rule was made from.
	whole *Rule
	// Needs lists the facts that its expressions need. early is true if its condition needs no lookup, although the
	// rule does.
	Needs *scope.Needs
	early bool
	// inKubelet is true if the rule writes only the texts of the kubelet.
	inKubelet bool
}

// KnownPurposes lists the purposes of OperatingSystemConfigs.
var KnownPurposes = []string{reconcile, provision}

// Origin returns the rule with forEach that an item's rule was made from, or the rule itself.
func (r *Rule) Origin() *Rule {
	if r.whole != nil {
		return r.whole
	}
	return r
}

// writesKubelet reports whether the rule writes only the kubelet's two texts.
func (r *Rule) writesKubelet() bool {
	return r.Target.Component == "kubelet" && r.ForEach == nil && r.whole == nil && len(r.Writes) > 0 &&
		!slices.ContainsFunc(r.Writes, func(w operation.Write) bool {
			return !operation.InText(w.Place.Kind) || w.Place.Kind == operation.UnitOption && w.Place.Container != target.KubeletUnit
		})
}

// String names the rule for messages: profile, rule with its item, and position.
func (r *Rule) String() string {
	return fmt.Sprintf("%s/%s (%s)", r.Profile, nameOf(r.Name, r.Item), r.Position)
}

// ItemReferences returns the dotted paths used by the items of the rule, or nil without forEach.
func (r *Rule) ItemReferences() []string {
	if r.ForEach == nil {
		return nil
	}
	return r.ForEach.Items.References()
}

// DoubleWrites reports places that one rule writes twice.
func DoubleWrites(r *Rule) source.Findings {
	var findings source.Findings
	seen := map[operation.Place]operation.Write{}
	for _, write := range r.Writes {
		if earlier, ok := seen[write.Place]; ok {
			findings = append(findings, write.At.Finding(write.Path, "%s is already written at %s", write.Place, earlier.At.Position()).Of(operation.WrittenTwice))
		}
		seen[write.Place] = write
	}
	return findings
}

// References returns the dotted paths of the variables that the rule needs.
func (r *Rule) References() []string {
	var references []string
	if r.ForEach != nil {
		references = r.ForEach.references()
	}
	if r.When != nil {
		references = append(references, r.When.References()...)
	}
	for _, write := range r.Writes {
		references = append(references, write.Value.References()...)
	}
	return references
}

// CheckKeep reports a place that cannot keep the value of the old object.
func CheckKeep(r *Rule) source.Findings {
	if !r.Keep {
		return nil
	}
	for _, write := range r.Writes {
		if write.Keep == nil {
			return source.Findings{write.At.Finding(r.Path+".onUpdate", "%s cannot keep the old object's value; write onUpdate: set", write.Place).Of(CannotKeep)}
		}
	}
	return nil
}

// Prepare computes the needed facts of the rule, and whether its condition can be evaluated without lookups.
func (r *Rule) Prepare() {
	if r.Needs != nil {
		return
	}
	reach := r.Scope.Reach(r.References())
	r.Needs, r.inKubelet = &reach, r.writesKubelet()
	if r.WhenText == "" || len(reach.Lookups[r.Scope]) == 0 {
		return
	}
	if before := r.Scope.Reach(r.When.References()); len(before.Lookups[r.Scope]) == 0 {
		// The condition is used twice, but evaluated once.
		r.early = true
		r.Scope.Conditions[r.WhenText]++
	}
}

// Misses returns the reason for which the rule does not concern an object. It is empty if it does.
func (r *Rule) Misses(o *target.Object) string { return r.missesIn(o.Form, o.Purpose(), o) }

// missesIn works like misses for an object of the form and the purpose.
func (r *Rule) missesIn(of *target.Form, purpose string, o interface{ HasKubelet() bool }) string {
	for i := range r.Target.Forms {
		form := &r.Target.Forms[i]
		if form.Kind != of.Kind || form.Group != of.Group {
			continue
		}
		if !form.Has(r.Operation.Parts) {
			break
		}
		if r.Purposes != nil && !slices.Contains(r.Purposes, purpose) {
			return fmt.Sprintf("the purpose is %q", purpose)
		}
		if r.Target.Component == "kubelet" && purpose == provision && !o.HasKubelet() {
			return "there is no kubelet in it"
		}
		return ""
	}
	return fmt.Sprintf("%s has no part for %s", of, r.Operation.Name)
}
