// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/annotation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/scope"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// Selection holds the rules for one object of the contract, which may comprise several targets: kubelet and node are
// both parts of an OperatingSystemConfig.
type Selection struct {
	Target *target.Target
	Form   *target.Form
	Rules  []*Rule
	// scopes are those of the rules, in their order.
	scopes    []*scope.Scope
	conflicts conflicts
	// Enforced is the selection without observed rules; nil if there are no observed rules.
	Enforced *Selection
	mark     annotation.Mark
	// record is the annotation that records the places that the rules write, or empty. lasts reports that there may be
	// such places.
	record string
	lasts  bool
	// sensitive reports that a rule, observed or not, may write values into the kubelet's texts that must not be cached.
	sensitive bool
	// Mode is the zero value in an admission.
	Mode PlanMode
}

// conflicts has the places that several rules write. any is true if a rule computes the names of its places, so that it
// may write any place.
type conflicts struct {
	places map[operation.Place]bool
	any    bool
}

// PlanMode selects how a plan is made.
type PlanMode struct {
	// Exists reports that the object is being updated.
	Exists bool
	// OmitFailing omits rules that cannot be computed. Forced treats every condition as true; it is for samples only.
	OmitFailing, Forced bool
}

// ProfileVersion names a profile that is part of a program.
type ProfileVersion struct {
	Name, Hash string
	Providers  []string
}

// Read parses the object and checks that it has the container that the contract requires.
func (s *Selection) Read(r Request) (*target.Object, *Failure) {
	parsed, err := scan(r.Document, r.Object)
	if err != nil {
		return nil, fail(ObjectUnreadable, err, "%s", s.Form)
	}
	if parsed.Root().Kind() != document.Object {
		return nil, fail(ObjectUnreadable, nil, "%s is not an object", s.Form)
	}
	object := &target.Object{Target: s.Target, Form: s.Form, Document: parsed}
	if object.Old, err = scan(r.OldDocument, r.OldObject); err != nil {
		return nil, fail(ObjectUnreadable, err, "the old object of %s", s.Form)
	}
	if len(s.Rules) > 0 && s.Form.Has(target.PodTemplate) && !s.Target.Other && !object.BeingDeleted() {
		if _, err := object.OwnContainer(); err != nil {
			return nil, applyFailure("the object breaks the contract", err)
		}
	}
	return object, nil
}

// scan returns the scanned document, or scans raw. It returns nil for empty bytes.
func scan(scanned *document.Document, raw []byte) (*document.Document, error) {
	if scanned != nil || len(raw) == 0 {
		return scanned, nil
	}
	return document.Parse(raw)
}

// isSensitive reports whether a rule for the kubelet may write a value from a Secret or from another part of the
// object, which may contain tokens. An object that was admitted before still has such a value in the texts that other
// rules read, so that nothing may be cached.
func isSensitive(rules []*Rule) bool {
	return slices.ContainsFunc(rules, func(r *Rule) bool {
		if r.Target.Component != "kubelet" {
			return false
		}
		var references []string
		if r.ForEach != nil {
			references = r.ForEach.references()
		}
		for i := range r.Writes {
			references = append(references, r.Writes[i].Value.References()...)
		}
		return len(r.Scope.SecretsIn(references)) > 0 || r.Scope.RevealsObject(references)
	})
}

// lastsOnObject reports whether the rule writes a value that remains after the rule is removed.
func lastsOnObject(r *Rule) bool {
	return slices.ContainsFunc(r.Writes, func(w operation.Write) bool { return len(w.Traces(nil)) > 0 })
}

func completeSelection(s *Selection) {
	for _, r := range s.Rules {
		r.prepare()
		if !slices.Contains(s.scopes, r.Scope) {
			s.scopes = append(s.scopes, r.Scope)
		}
	}
	findConflicts(s)
	s.sensitive = isSensitive(s.Rules)
	enforced := slices.DeleteFunc(slices.Clone(s.Rules), func(r *Rule) bool { return r.Observed })
	if len(enforced) < len(s.Rules) {
		s.Enforced = &Selection{Target: s.Target, Form: s.Form, Rules: enforced}
		completeSelection(s.Enforced)
		s.Enforced.sensitive = s.sensitive
	}
}

// findConflicts finds the places that several rules write.
func findConflicts(s *Selection) {
	s.conflicts.places = map[operation.Place]bool{}
	seen := map[operation.Place]bool{}
	for _, r := range s.Rules {
		if r.ForEach != nil {
			s.conflicts.any = true
			continue
		}
		for i := range r.Writes {
			if place := r.Writes[i].Place; seen[place] {
				s.conflicts.places[place] = true
			} else {
				seen[place] = true
			}
		}
	}
}

// markOf returns the mark of the rules of a set.
func markOf(set target.Set, rules []*Rule, profiles []ProfileVersion) annotation.Mark {
	var versions []string
	for _, p := range profiles {
		if slices.ContainsFunc(rules, func(r *Rule) bool { return r.Profile == p.Name }) {
			versions = append(versions, p.Version())
		}
	}
	return annotation.NewMark(set, versions)
}

// Version returns the name of the version in a mark.
func (v ProfileVersion) Version() string { return v.Name + "@" + v.Hash[:min(len(v.Hash), markDigits)] }
