// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types/ref"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
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
	// whole is the rule with forEach that an item's rule was made from, and item is the item.
	whole *Rule
	item  ref.Val
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

// nameOf returns the name of a rule with its item.
func nameOf(rule, item string) string {
	if item == "" {
		return rule
	}
	return rule + "[" + item + "]"
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

// prepare computes the needed facts of the rule, and whether its condition can be evaluated without lookups.
func (r *Rule) prepare() {
	if r.Needs != nil {
		return
	}
	reach := r.Scope.Reach(r.References())
	r.Needs, r.inKubelet = &reach, r.writesKubelet()
	r.early = r.When != nil && r.ForEach == nil && len(reach.Lookups) > 0 && len(r.Scope.Reach(r.When.References()).Lookups) == 0
}

// Skips finds the rules that do not concern an object.
type Skips struct {
	object *target.Object
	// purpose is that of the object, and locked the clause that forbids every change.
	purpose, locked string
}

// SkipsFor returns the Skips for an object.
func SkipsFor(g contract.Generation, o *target.Object) Skips {
	s := Skips{object: o, purpose: o.Purpose()}
	if clause, locked := contract.ServiceLocked(o, g); locked {
		s.locked = clause.String()
	}
	return s
}

// Reason returns the reason for which a rule does not concern the object: the contract forbids every change, or the
// object has no such part. It is empty if the rule does.
func (s Skips) Reason(r *Rule) string {
	if s.locked != "" {
		return s.locked
	}
	for i := range r.Target.Forms {
		form := &r.Target.Forms[i]
		if form.Kind != s.object.Form.Kind || form.Group != s.object.Form.Group {
			continue
		}
		if !form.Has(r.Operation.Parts) {
			break
		}
		if r.Purposes != nil && !slices.Contains(r.Purposes, s.purpose) {
			return fmt.Sprintf("the purpose is %q", s.purpose)
		}
		if r.Target.Component == "kubelet" && s.purpose == provision && !s.object.HasKubelet() {
			return "there is no kubelet in it"
		}
		return ""
	}
	return fmt.Sprintf("%s has no part for %s", s.object.Form, r.Operation.Name)
}
