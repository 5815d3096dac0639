// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// Result holds the differences between two sides.
type Result struct {
	// Groups are the differences, each once with its shoots: newly denied objects first.
	Groups []*Group
	// Objects counts the objects that were compared, and Shoots are the titles of the snapshots.
	Objects int
	Shoots  []string
	// Incomplete reports that there are more snapshots, which could not be had; the notes say which. Callers set it.
	Incomplete bool

	options Options
}

// Group is a difference that objects of one or several shoots have.
type Group struct {
	Verdict Verdict
	// Change is the difference in the first of the shoots.
	Change *render.Change
	// Effects say which parts of the objects change, such as "Pod template changes".
	Effects []string
	// Shoots are the titles of the shoots that have the difference, and Among is the number of shoots that have the
	// object.
	Shoots []string
	Among  int

	subject string
}

// Differs reports whether the sides differ in any object that both could be asked about.
func (r *Result) Differs() bool {
	return slices.ContainsFunc(r.Groups, func(g *Group) bool { return g.Verdict != Denied && g.Verdict != Unknown })
}

// Count returns the number of groups with a verdict.
func (r *Result) Count(v Verdict) int {
	count := 0
	for _, g := range r.Groups {
		if g.Verdict == v {
			count++
		}
	}
	return count
}

// gather puts the outcomes of all snapshots together: equal differences of the same object in several shoots are one.
func gather(o Options, found [][]objectVerdict) *Result {
	r := &Result{options: o}
	groups, having := map[string]*Group{}, map[string]int{}
	for i, s := range o.Snapshots {
		r.Shoots = append(r.Shoots, s.Title)
		seen := map[string]bool{}
		for _, out := range found[i] {
			r.Objects++
			subject := subjectOf(out.object)
			if !seen[subject] {
				seen[subject] = true
				having[subject]++
			}
			if out.verdict == Same {
				continue
			}
			key := out.key(subject)
			g := groups[key]
			if g == nil {
				g = &Group{Verdict: out.verdict, Change: out.change, Effects: out.effects, subject: subject}
				_, g.Change.Name, _ = strings.Cut(subject, " ")
				groups[key] = g
				r.Groups = append(r.Groups, g)
			}
			if !slices.Contains(g.Shoots, s.Title) {
				g.Shoots = append(g.Shoots, s.Title)
			}
		}
	}
	for _, g := range r.Groups {
		g.Among = having[g.subject]
	}
	slices.SortStableFunc(r.Groups, func(a, b *Group) int {
		return cmp.Or(
			slices.Index(verdicts, a.Verdict)-slices.Index(verdicts, b.Verdict), cmp.Compare(len(b.Shoots), len(a.Shoots)),
			strings.Compare(a.Change.Kind, b.Change.Kind), strings.Compare(a.Change.Name, b.Change.Name),
		)
	})
	return r
}

// subjectOf returns the name of an object that is the same in all shoots: kind and name, or the purpose of an
// OperatingSystemConfig, because its name contains the hash of a pool.
func subjectOf(o manifest.Object) string {
	var config struct {
		Spec struct {
			Purpose string `json:"purpose"`
		} `json:"spec"`
	}
	if o.Kind == "OperatingSystemConfig" && json.Unmarshal(o.JSON, &config) == nil && config.Spec.Purpose != "" {
		return o.Kind + " of purpose " + config.Spec.Purpose
	}
	return o.Kind + " " + o.Name
}

// key returns the same text for outcomes that belong to one group.
func (out objectVerdict) key(subject string) string {
	var key strings.Builder
	fmt.Fprintf(&key, "%s|%s|%s|%v|%v", out.object.APIVersion, subject, out.verdict, out.change.Denied, out.effects)
	for _, edit := range out.change.Edits() {
		if edit.Op != render.Same && out.verdict == Different {
			fmt.Fprintf(&key, "\n%c%s|%s|%v", edit.Op, edit.Line.Path, edit.Line.Text, *edit.By)
		}
	}
	return key.String()
}

// Write writes the result in one of the formats of render.Comparisons. It fails if w cannot be written.
func (r *Result) Write(w io.Writer, format render.Format, style render.Style) error {
	style.File = r.file(style.File)
	style.Title = "Changes by the new version of the profiles"
	style.About = append(style.About,
		render.Fact{Name: "OLD", Value: r.options.OldName}, render.Fact{Name: "NEW", Value: r.options.NewName},
		render.Fact{Name: "Compared", Value: fmt.Sprintf("%s in %s", render.Count(r.Objects, "object"), r.shoots())})
	style.Head = true
	style.Notes = r.options.Notes
	changes := make([]*render.Change, len(r.Groups))
	for i, g := range r.Groups {
		changes[i] = g.shown(len(r.Shoots))
	}
	return format.Write(style, w, changes...)
}

// shown returns the change with a note about its shoots and its effects.
func (g *Group) shown(of int) *render.Change {
	shown := *g.Change
	var notes []string
	if g.Verdict != Different {
		notes = append(notes, string(g.Verdict))
	}
	notes = append(notes, g.Effects...)
	if of > 1 {
		shown.Shoots = g.Shoots
		notes = append(notes, fmt.Sprintf("in %d of %d shoots", len(g.Shoots), g.Among))
	}
	shown.Note = strings.Join(notes, ", ")
	return &shown
}

// shoots returns the number of shoots, or the title of the only one.
func (r *Result) shoots() string {
	if len(r.Shoots) == 1 {
		return "1 shoot: " + r.Shoots[0]
	}
	return render.Count(len(r.Shoots), "shoot")
}

// file returns how a profile's file is called: with its side where only one side has it.
func (r *Result) file(short func(string) string) func(string) string {
	return func(name string) string {
		was, is := slices.Contains(r.options.OldFiles, name), slices.Contains(r.options.NewFiles, name)
		side := ""
		switch {
		case was && !is:
			side = "OLD "
		case is && !was:
			side = "NEW "
		}
		if short != nil {
			return side + short(name)
		}
		return side + name[strings.LastIndexAny(name, "/:")+1:]
	}
}
