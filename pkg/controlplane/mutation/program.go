// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/annotation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// AnyName is the key of selections for other objects with any name; a name followed by * is a prefix.
const AnyName = "*"

// markDigits is the number of digits of a profile's hash in a mark: 32 bits distinguish the versions of one profile.
const markDigits = 8

// Program is the compiled form of all loaded profiles. It is immutable and safe for concurrent use.
type Program struct {
	generation contract.Generation
	marks      bool
	profiles   []ProfileVersion
	scopes     map[ScopeKey]map[formKey]*Selection
	warnings   source.Findings
	// others holds the forms of objects that the contract does not name.
	others []*target.Form
	// cache holds results for the kubelet's texts.
	cache *KubeletCache
	// numbers is the number of rules so far.
	numbers int
}

// ScopeKey identifies the scope of a webhook; provider is empty for the garden namespace.
type ScopeKey struct {
	Set      target.Set
	Provider string
	Garden   bool
}

type formKey struct{ group, kind, name string }

// covers reports whether the name of the key is a prefix of the object's name.
func (k formKey) covers(group, kind, name string) bool {
	prefix, isPrefix := strings.CutSuffix(k.name, "*")
	return isPrefix && k.group == group && k.kind == kind && strings.HasPrefix(name, prefix)
}

// SelectRules returns the rules for an object, or nil if there are none.
func (p *Program) SelectRules(r Request) (*Selection, *Failure) {
	forms, ok := p.scopes[ScopeKey{Set: r.Set, Provider: r.Provider, Garden: r.Garden}]
	if !ok {
		return nil, fail(NotLoaded, nil, "no profile for %s of provider %q is loaded", r.Set, r.Provider)
	}
	if named := forms[formKey{r.Group, r.Kind, r.Name}]; named != nil {
		return named, nil
	}
	if unnamed := forms[formKey{r.Group, r.Kind, ""}]; unnamed != nil || len(p.others) == 0 {
		return unnamed, nil
	}
	return longest(forms, r), nil
}

// longest returns the selection for an object that is no target of the contract: among the selections whose name is a
// prefix of the object's name, the one with the longest name.
func longest(forms map[formKey]*Selection, r Request) *Selection {
	if t, _ := target.Match(r.Garden, r.Group, r.Kind, r.Name); t != nil {
		return nil
	}
	var (
		found  *Selection
		length = -1
	)
	for at, selected := range forms {
		if at.covers(r.Group, r.Kind, r.Name) && len(at.name) > length {
			found, length = selected, len(at.name)
		}
	}
	return found
}

// NewProgram returns a program without rules. With marks, it adds annotations to the patch that name the profiles and
// record the replaced values.
func NewProgram(g contract.Generation, marks bool, profiles []ProfileVersion) *Program {
	return &Program{
		generation: g, marks: marks, profiles: profiles, scopes: map[ScopeKey]map[formKey]*Selection{},
		cache: newKubeletCache(),
	}
}

// Generation returns the generation of Gardener that the program serves.
func (p *Program) Generation() contract.Generation { return p.generation }

// ScopeKeys returns the scopes with rules, sorted by set and provider.
func (p *Program) ScopeKeys() []ScopeKey {
	return slices.SortedFunc(maps.Keys(p.scopes), func(a, b ScopeKey) int {
		return cmp.Or(cmp.Compare(slices.Index(target.Sets(), a.Set), slices.Index(target.Sets(), b.Set)), strings.Compare(a.Provider, b.Provider))
	})
}

// Selections returns all selections with their scopes, sorted by set and provider.
func (p *Program) Selections() iter.Seq2[ScopeKey, *Selection] {
	return func(yield func(ScopeKey, *Selection) bool) {
		for _, key := range p.ScopeKeys() {
			for _, selected := range p.scopes[key] {
				if !yield(key, selected) {
					return
				}
			}
		}
	}
}

// Add adds rules for a target after those of earlier profiles. For objects that the contract does not name, it returns
// the form of earlier rules for the same kind with another version or resource, or else nil.
func (p *Program) Add(key ScopeKey, t *target.Target, rules []*Rule) *target.Form {
	for _, r := range rules {
		if r.number == 0 {
			p.numbers++
			r.number = p.numbers
		}
	}
	if p.scopes[key] == nil {
		p.scopes[key] = map[formKey]*Selection{}
	}
	var conflict *target.Form
	for i := range t.Forms {
		form := &t.Forms[i]
		at := formKey{form.Group, form.Kind, form.Name}
		if t.Other {
			for _, known := range p.others {
				if known.Group == form.Group && known.Kind == form.Kind && (known.Version != form.Version || known.Resource != form.Resource) {
					conflict = cmp.Or(conflict, known)
				}
			}
			p.others = append(p.others, form)
			at.name = cmp.Or(form.Name, AnyName)
		}
		if p.scopes[key][at] == nil {
			p.scopes[key][at] = &Selection{Target: t, Form: form}
		}
		p.scopes[key][at].Rules = append(p.scopes[key][at].Rules, rules...)
	}
	return conflict
}

// inheritRules adds to each selection of other objects the rules of wider selections: first those for any name, then
// those of shorter prefixes, and its own last, so that the most specific rule wins.
func inheritRules(p *Program) {
	for _, forms := range p.scopes {
		merged := map[formKey][]*Rule{}
		for at, selected := range forms {
			if selected.Target.Other {
				merged[at] = inherited(forms, at)
			}
		}
		for at, rules := range merged {
			forms[at].Rules = rules
		}
	}
}

func inherited(forms map[formKey]*Selection, of formKey) []*Rule {
	var wider []formKey
	for at := range forms {
		if at == of || at.covers(of.group, of.kind, of.name) {
			wider = append(wider, at)
		}
	}
	slices.SortFunc(wider, func(a, b formKey) int {
		// An exact name comes after the prefix of the same length.
		prefixes := cmp.Compare(len(strings.TrimSuffix(a.name, "*")), len(strings.TrimSuffix(b.name, "*")))
		return cmp.Or(prefixes, cmp.Compare(len(b.name), len(a.name)))
	})
	var rules []*Rule
	for _, at := range wider {
		rules = append(rules, forms[at].Rules...)
	}
	return rules
}

// Complete completes the program after all rules were added: it computes the properties of each selection once.
func (p *Program) Complete() {
	inheritRules(p)
	for key, forms := range p.scopes {
		for _, selected := range forms {
			completeSelection(selected)
			if applied := cmp.Or(selected.Enforced, selected); p.marks {
				applied.mark, applied.record = markOf(key.Set, applied.Rules, p.profiles), annotation.RecordKey(key.Set)
				applied.lasts = slices.ContainsFunc(applied.Rules, lastsOnObject)
			}
		}
	}
}
