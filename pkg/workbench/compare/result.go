// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/rollout"
)

// Result is what was found.
type Result struct {
	// OldName and NewName are what the sides are called.
	OldName, NewName string
	// OldFiles and NewFiles are the names of the sides' profiles.
	OldFiles, NewFiles map[string]bool
	// Shoots are the scenes in their order.
	Shoots []Shoot
	// Groups are the differences: what is newly denied first, then what is no longer, then the others, each by what follows from it and by
	// how many shoots it is for; at the end what both sides deny.
	Groups []*Group
	// Same are the objects that are the same on both sides in every shoot that has them.
	Same []Subject
	// Objects counts all that were compared.
	Objects int
	// Notes are what else is to be said.
	Notes []string
	// Incomplete says that scenes are missing, as Options says it.
	Incomplete bool
}

// Shoot is one scene.
type Shoot struct {
	Title  string
	Traits map[string]string
}

// Subject is an object as it is known over many shoots.
type Subject struct {
	APIVersion, Kind string
	// Name is that of the object; of OperatingSystemConfigs, which have the hash of a pool in their names, their purpose.
	Name string
}

// String is kind and name.
func (s Subject) String() string { return s.Kind + " " + s.Name }

// Group is a difference that is the same for several shoots.
type Group struct {
	Subject
	Verdict Verdict
	// Names are the objects' own names, sorted.
	Names []string
	// Old and New are why the sides deny the object; nil where they admit it.
	Old, New error
	// Unknown is why a side could not answer; nil unless that is the verdict.
	Unknown error
	// Difference is that of the first of the shoots; nil unless the verdict is Different.
	Difference *render.Change
	// Effects are what follows, the gravest first.
	Effects []Consequence
	// Shoots are those for which it is so, by their places in the result, and Among those that have the object.
	Shoots, Among []int
	// When is what sets the shoots apart from the others that have the object; empty where they are all or nothing does exactly.
	When string

	// denied is the change that is denied; nil where the verdict is Different.
	denied *render.Change
}

// Consequence is an effect of a difference, for those shoots of the group that have it.
type Consequence struct {
	rollout.Effect
	Shoots []int
	// When is what sets them apart from the others of the group.
	When string
}

// Gravest is the gravest impact of the group; Nothing where the object is denied.
func (g *Group) Gravest() rollout.Impact {
	if len(g.Effects) == 0 {
		return rollout.Nothing
	}
	return g.Effects[0].Impact
}

// Differs says whether there is anything but what is the same.
func (r *Result) Differs() bool {
	return slices.ContainsFunc(r.Groups, func(g *Group) bool { return g.Verdict != Denied && g.Verdict != Unknown })
}

// Count counts the groups of a verdict.
func (r *Result) Count(v Verdict) int {
	count := 0
	for _, g := range r.Groups {
		if g.Verdict == v {
			count++
		}
	}
	return count
}

// gather groups what was found of each scene.
func gather(o Options, found [][]outcome) *Result {
	r := &Result{
		OldName: cmp.Or(o.OldName, "OLD"), NewName: cmp.Or(o.NewName, "NEW"), OldFiles: setOf(o.OldFiles), NewFiles: setOf(o.NewFiles),
		Notes: o.Notes, Incomplete: o.Incomplete,
	}
	known := make([]map[string]string, len(o.Scenes))
	for i, s := range o.Scenes {
		known[i] = TraitsOf(s)
		r.Shoots = append(r.Shoots, Shoot{s.Title, known[i]})
	}
	var (
		groups   = map[string]*Group{}
		having   = map[Subject][]int{}
		subjects []Subject
	)
	for i, outcomes := range found {
		for _, out := range outcomes {
			r.Objects++
			subject := subjectOf(out.object)
			if having[subject] == nil {
				subjects = append(subjects, subject)
			}
			having[subject] = appendOnce(having[subject], i)
			if out.verdict == Same {
				continue
			}
			key := out.key(subject)
			if groups[key] == nil {
				groups[key] = out.group(subject)
				r.Groups = append(r.Groups, groups[key])
			}
			groups[key].add(i, out)
		}
	}
	differing := map[Subject]bool{}
	for _, g := range r.Groups {
		differing[g.Subject] = true
		g.finish(known, having[g.Subject])
	}
	for _, subject := range subjects {
		if !differing[subject] {
			r.Same = append(r.Same, subject)
		}
	}
	r.sort()
	return r
}

func (r *Result) sort() {
	slices.SortStableFunc(r.Groups, func(a, b *Group) int {
		return cmp.Or(
			slices.Index(verdicts, a.Verdict)-slices.Index(verdicts, b.Verdict),
			rollout.Graver(a.Gravest(), b.Gravest()),
			cmp.Compare(len(b.Shoots), len(a.Shoots)),
			strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name),
		)
	})
	slices.SortFunc(r.Same, func(a, b Subject) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
}

// subjectOf is the object under the name by which it is known in every shoot.
func subjectOf(o manifest.Object) Subject {
	subject := Subject{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name}
	if o.Kind != "OperatingSystemConfig" {
		return subject
	}
	var config struct {
		Spec struct {
			Purpose string `json:"purpose"`
		} `json:"spec"`
	}
	if json.Unmarshal(o.JSON, &config) == nil && config.Spec.Purpose != "" {
		subject.Name = "of purpose " + config.Spec.Purpose
	}
	return subject
}

// key is the same for outcomes that are to be said once.
func (out outcome) key(s Subject) string {
	var key strings.Builder
	fmt.Fprintf(&key, "%s|%s|%s|%s", s.APIVersion, s, out.verdict, s.Name)
	for _, side := range []*render.Change{out.old, out.new} {
		if side != nil && side.Denied != nil {
			fmt.Fprintf(&key, "|%s", side.Denied)
		}
	}
	if out.unknown != nil {
		fmt.Fprintf(&key, "|%s", out.unknown)
	}
	if out.difference == nil {
		return key.String()
	}
	for _, edit := range out.difference.Edits() {
		if edit.Op != render.Same {
			fmt.Fprintf(&key, "\n%c%s|%s|%v", edit.Op, edit.Line.Path, edit.Line.Text, *edit.By)
		}
	}
	return key.String()
}

func (out outcome) group(s Subject) *Group {
	g := &Group{Subject: s, Verdict: out.verdict, Difference: out.difference}
	if out.unknown != nil {
		g.Unknown = out.unknown
		return g
	}
	g.Old, g.New = out.old.Denied, out.new.Denied
	switch {
	case g.New != nil:
		g.denied = out.new
	case g.Old != nil:
		g.denied = out.old
	}
	return g
}

// add notes another shoot for which it is so.
func (g *Group) add(shoot int, out outcome) {
	g.Shoots = appendOnce(g.Shoots, shoot)
	if !slices.Contains(g.Names, out.object.Name) {
		g.Names = append(g.Names, out.object.Name)
	}
	for _, effect := range out.effects {
		at := slices.IndexFunc(g.Effects, func(c Consequence) bool { return c.Impact == effect.Impact && c.What == effect.What })
		if at < 0 {
			at = len(g.Effects)
			g.Effects = append(g.Effects, Consequence{Effect: effect})
		}
		g.Effects[at].Shoots = appendOnce(g.Effects[at].Shoots, shoot)
	}
}

// finish finds out what sets the shoots apart.
func (g *Group) finish(known []map[string]string, among []int) {
	slices.Sort(g.Names)
	g.Among = among
	g.When = separate(known, g.Shoots, among)
	for i := range g.Effects {
		g.Effects[i].When = separate(known, g.Effects[i].Shoots, g.Shoots)
	}
	slices.SortStableFunc(g.Effects, func(a, b Consequence) int { return rollout.Graver(a.Impact, b.Impact) })
}

// appendOnce keeps a list of places sorted, each once; places come in their order.
func appendOnce(places []int, place int) []int {
	if n := len(places); n > 0 && places[n-1] == place {
		return places
	}
	return append(places, place)
}

func setOf(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}
