// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// selector selects objects: those of a target, of a kind and name, or all remaining ones.
type selector struct {
	title string
	// target is nil for objects without a target, and for the remaining ones.
	target     *target.Target
	kind, name string
	others     bool
	purposes   []string
}

// purposes are those that an OperatingSystemConfig has.
var purposes = []string{"reconcile", "provision"}

// compileSelector compiles a target, Kind/name or others.
func compileSelector(at source.Node, path, title string, wanted []string, mayBeOthers bool) (selector, source.Findings) {
	s := selector{title: title, purposes: wanted}
	var findings source.Findings
	for _, purpose := range wanted {
		if !slices.Contains(purposes, purpose) {
			findings = append(findings, at.Finding(path+".purposes", "unknown purpose %q%s", purpose, source.Suggest(purpose, purposes)))
		}
	}
	if len(wanted) == 0 {
		s.purposes = purposes[:1]
	}
	if found, ok := target.Lookup(title); ok {
		s.target = found
		return s, findings
	}
	if mayBeOthers && title == v1alpha1.TestOthers {
		s.others = true
		return s, findings
	}
	var ok bool
	if s.kind, s.name, ok = strings.Cut(title, "/"); !ok || s.kind == "" || s.name == "" {
		known := target.Names()
		if mayBeOthers {
			known = append(known, v1alpha1.TestOthers)
		}
		findings = append(findings, at.Finding(path, "%q is neither a target nor kind and name, such as Deployment/acme%s", title, source.Suggest(title, known)))
	}
	return s, findings
}

// matches reports whether the selector selects an object; garden means that it is in the namespace of the virtual
// garden.
func (s *selector) matches(o manifest.Object, purpose string, garden bool) bool {
	if s.target == nil {
		return !s.others && o.Kind == s.kind && o.Name == s.name
	}
	return s.target.Garden == garden && slices.ContainsFunc(s.target.Forms, func(f target.Form) bool { return f.Is(o.Group(), o.Kind, o.Name) }) &&
		(!s.target.Purposed || slices.Contains(s.purposes, purpose))
}

// targetOf returns the target of an object: the selected one, or one that the contract does not name.
func (s *selector) targetOf(o manifest.Object) (*target.Target, *target.Form) {
	if s.target != nil {
		for i := range s.target.Forms {
			if f := &s.target.Forms[i]; f.Is(o.Group(), o.Kind, o.Name) {
				return s.target, f
			}
		}
	}
	other := target.Other(target.Form{Group: o.Group(), Kind: o.Kind, Name: o.Name})
	return other, &other.Forms[0]
}
