// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// occurrence is an atom in one object.
type occurrence struct {
	atom    *atom
	subject *subject
	// literal and computed are the value without and with expressions.
	literal, computed any
	used              map[string]bool
	// held is of a Secret, and would be written.
	held *datum
}

// variant is one value for one place, and the objects in which it is written there.
type variant struct {
	atom  *atom
	value any
	// literal is the value without expressions; guessed says that value has some.
	literal any
	guessed bool
	in      []*subject
	// purposes and when are where it applies.
	purposes []string
	when     string
	notes    []string
	// harms are the objects that it changes otherwise than the webhook, as no condition keeps it from them.
	harms []*subject
	// refused is why it cannot be a rule.
	refused string
	// held is what of a Secret it has, so that not even a comment may have its value.
	held *datum
}

// gather puts together the atoms that write the same into several objects, in the order in which they were found.
func gather(found []*differ, o Options) []*variant {
	var (
		order  []string
		places = map[string][]occurrence{}
	)
	for _, d := range found {
		lookups := d.subject.lookups()
		known := lookups
		if !o.Literal {
			known = slices.Concat(lookups, d.subject.facts())
		}
		for _, a := range d.atoms {
			place := a.place()
			if places[place] == nil {
				order = append(order, place)
			}
			used := map[string]bool{}
			is := occurrence{
				atom: a, subject: d.subject, used: used,
				literal: d.subject.expressed(a, lookups, nil), computed: d.subject.expressed(a, known, used),
			}
			is.held = cmp.Or(d.subject.secrets.heldBy(a, is.literal), d.subject.secrets.heldBy(a, is.computed))
			places[place] = append(places[place], is)
		}
	}
	var variants []*variant
	for _, place := range order {
		variants = append(variants, variantsOf(places[place])...)
	}
	return variants
}

// variantsOf are the values of one place. A value that is the same everywhere is an expression only where the facts are the same
// everywhere, too: there it is a guess. Values that are the same but for the facts in them are one.
func variantsOf(all []occurrence) []*variant {
	same := func(value func(occurrence) any) bool {
		return !slices.ContainsFunc(all, func(o occurrence) bool { return !bytes.Equal(rawOf(value(o)), rawOf(value(all[0]))) })
	}
	value := func(o occurrence) any { return o.computed }
	alike := same(func(o occurrence) any { return o.literal })
	if alike && !same(value) {
		value = func(o occurrence) any { return o.literal }
	}
	var variants []*variant
	byValue := map[string]*variant{}
	for _, o := range all {
		key := string(rawOf(value(o)))
		v := byValue[key]
		if v == nil {
			v = &variant{atom: o.atom, value: value(o), literal: o.literal, held: o.held, notes: slices.Clone(o.atom.notes)}
			if v.guessed = string(rawOf(o.literal)) != key; v.guessed {
				v.notes = append(v.notes, guesses(o.used, alike)...)
			}
			byValue[key] = v
			variants = append(variants, v)
		}
		v.in = append(v.in, o.subject)
	}
	return variants
}

// guesses are notes about the facts in a value: it is a guess where all objects have the same, and none where the value follows them.
func guesses(used map[string]bool, alike bool) []string {
	var notes []string
	for _, fact := range slices.Sorted(maps.Keys(used)) {
		expression, _, _ := strings.Cut(fact, " is ")
		if alike {
			notes = append(notes, guess+fact+" here")
		} else {
			notes = append(notes, differing+expression+" does")
		}
	}
	return notes
}

// The notes on expressions begin so.
const (
	guess     = "a guess: "
	differing = "it differs as "
)

// sameOwner says whether an object is of the target, or of the other objects, that an atom is for.
func (a *atom) sameOwner(s *subject) bool {
	if a.owner.Purposed {
		return s.form.Kind == "OperatingSystemConfig"
	}
	return a.owner.Name == s.target.Name && formName(a.owner) == formName(s.target)
}

// settle finds where the variants apply: for which purposes and on which condition.
func (p *proposer) settle(variants []*variant) []*variant {
	var settled []*variant
	for _, v := range variants {
		if v.held != nil {
			v.purposes, v.refused = v.purposesIn(), "it holds data of "+v.held.String()+", which have no place in a profile; rules get them by a lookup"
			settled = append(settled, v)
			continue
		}
		settled = append(settled, p.place(v)...)
	}
	p.contend(settled)
	return settled
}

// contend leaves out all but the first of the values that are proposed for one place under the same condition.
func (p *proposer) contend(variants []*variant) {
	seen := map[string]bool{}
	for _, v := range variants {
		if v.held != nil {
			continue
		}
		key := strings.Join([]string{v.atom.place(), v.when, fmt.Sprint(v.purposes)}, "\x00")
		if seen[key] {
			v.refused = "another value is proposed for the same place"
			if len(v.notes) > 0 {
				v.refused += "; " + strings.Join(v.notes, "; ")
			}
		}
		seen[key] = true
	}
}

// place finds where a variant applies, and makes two of it where the purposes need that.
func (p *proposer) place(v *variant) []*variant {
	if !v.atom.owner.Purposed {
		p.condition(v, p.peers(v, nil))
		return []*variant{v}
	}
	purposes := v.purposesIn()
	peers := p.peers(v, purposes)
	if len(purposes) < 2 || len(p.harmed(v, peers)) == 0 {
		v.purposes = purposes
		p.condition(v, peers)
		return []*variant{v}
	}
	var parts []*variant
	for _, purpose := range purposes {
		part := *v
		part.purposes, part.notes = []string{purpose}, slices.Clone(v.notes)
		part.in = slices.DeleteFunc(slices.Clone(v.in), func(s *subject) bool { return s.purpose != purpose })
		p.condition(&part, p.peers(&part, part.purposes))
		parts = append(parts, &part)
	}
	if parts[0].when == parts[1].when && slices.Equal(parts[0].notes, parts[1].notes) {
		parts[0].purposes, parts[0].in = purposes, v.in
		return parts[:1]
	}
	return parts
}

// purposesIn are the purposes of the objects in which the variant is.
func (v *variant) purposesIn() []string {
	var purposes []string
	for _, purpose := range []string{"provision", "reconcile"} {
		if slices.ContainsFunc(v.in, func(s *subject) bool { return s.purpose == purpose }) {
			purposes = append(purposes, purpose)
		}
	}
	return purposes
}

// peers are the objects to which a rule of the variant would apply without a condition.
func (p *proposer) peers(v *variant, purposes []string) []*subject {
	var peers []*subject
	for _, s := range p.subjects {
		if v.atom.sameOwner(s) && (purposes == nil || slices.Contains(purposes, s.purpose)) {
			peers = append(peers, s)
		}
	}
	return peers
}

// harmed are those among the peers which the variant would change though the webhook did not.
func (p *proposer) harmed(v *variant, peers []*subject) []*subject {
	var others []*subject
	for _, s := range peers {
		if !slices.Contains(v.in, s) {
			others = append(others, s)
		}
	}
	if len(others) == 0 {
		return nil
	}
	alone := &variant{atom: v.atom, value: v.value}
	if v.atom.owner.Purposed {
		alone.purposes = []string{"provision", "reconcile"}
	}
	program := p.compile([]*rule{{set: p.setOf(v.atom), variants: []*variant{alone}}})
	return slices.DeleteFunc(others, func(s *subject) bool {
		if program == nil {
			return false
		}
		result, err := p.admit(program, s, s.want)
		return err == nil && result == nil
	})
}

// condition finds the condition that tells the objects of the variant from those that it would harm.
func (p *proposer) condition(v *variant, peers []*subject) {
	harmed := p.harmed(v, peers)
	if len(harmed) == 0 {
		return
	}
	if when, note, ok := separate(v.atom.owner, v.in, harmed); ok && p.secrets.holding(when+"\n"+note) == nil {
		v.when = when
		v.notes = append(v.notes, note)
		return
	}
	v.harms = harmed
	is, isNot := names(v.in, harmed)
	v.notes = append(v.notes, "seen in "+is+", not in "+isNot+"; no condition was found that tells them apart, write one")
}

// setOf is the set of webhooks in which a rule for the atom stands.
func (p *proposer) setOf(a *atom) target.Set {
	if p.options.Set != "" && !a.owner.Garden {
		return p.options.Set
	}
	etcd := a.owner.Component == "etcd" && !a.owner.Garden
	switch {
	case etcd && a.operation == "containers" && len(a.path) > 1 && a.path[1] == "backup-restore":
		return target.Backup
	case etcd, a.owner.Name == "kube-apiserver-service":
		return target.Exposure
	}
	return target.ControlPlane
}

// names say where something is and where it is not: by the cases, or by the objects where the cases do not tell them apart.
func names(in, out []*subject) (is, isNot string) {
	byCase := func(s *subject) string { return s.from.Name }
	if slices.ContainsFunc(in, func(s *subject) bool {
		return slices.ContainsFunc(out, func(other *subject) bool { return other.from.Name == s.from.Name })
	}) {
		byCase = (*subject).String
	}
	return listOf(in, byCase), listOf(out, byCase)
}

// listOf lists some of the names of objects.
func listOf(subjects []*subject, of func(*subject) string) string {
	const most = 6
	var all []string
	for _, s := range subjects {
		if name := of(s); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if len(all) > most {
		all = append(all[:most], "others")
	}
	return join(all)
}
