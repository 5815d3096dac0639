// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	profilev1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// Document is what the formats json and yaml say of a result. Fields may be added, but none changes its meaning within a version.
type Document struct {
	// APIVersion is that of profiles; Kind is Comparison.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Old and New are what the sides are called.
	Old string `json:"old"`
	New string `json:"new"`
	// Objects counts all objects of all shoots.
	Objects int `json:"objects"`
	// Shoots are those that were compared; differences name them by their titles.
	Shoots []DocumentShoot `json:"shoots"`
	// Differences are sorted: what is newly denied first, then what is no longer, then by what follows.
	Differences []DocumentGroup `json:"differences"`
	// Same are the objects that are the same in all shoots.
	Same []DocumentSubject `json:"same"`
	// Notes are what else is to be said, such as what of a live object is not known.
	Notes []string `json:"notes,omitempty"`
}

// DocumentShoot is a shoot with the traits by which shoots are told apart.
type DocumentShoot struct {
	Title  string            `json:"title"`
	Traits map[string]string `json:"traits"`
}

// DocumentSubject is an object as it is known over many shoots.
type DocumentSubject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// DocumentGroup is a difference that is the same for several shoots.
type DocumentGroup struct {
	DocumentSubject `json:",inline"`
	// Names are the objects' own names where they are not all the same as Name.
	Names []string `json:"names,omitempty"`
	// Verdict is newlyDenied, noLongerDenied, unknown, different or denied.
	Verdict Verdict `json:"verdict"`
	// Unknown is why the object could not be compared; absent where it was.
	Unknown string `json:"unknown,omitempty"`
	// Shoots are those for which it is so, OfShoots counts those that have the object.
	Shoots   []string `json:"shoots"`
	OfShoots int      `json:"ofShoots"`
	// When says what sets the shoots apart; absent where they are all or nothing does exactly.
	When string `json:"when,omitempty"`
	// DeniedByOld and DeniedByNew are why a side denies the object; absent where it admits it.
	DeniedByOld *render.Denial `json:"deniedByOld,omitempty"`
	DeniedByNew *render.Denial `json:"deniedByNew,omitempty"`
	// Edits are the lines by which the results differ, with the rules: those of Old that are gone, or those of New.
	Edits []render.LineEdit `json:"edits"`
	// Effects are what follows, the gravest first.
	Effects []DocumentEffect `json:"effects"`
}

// DocumentEffect is one thing that follows.
type DocumentEffect struct {
	// Impact is breaks, nodes, pods, units, scale, later, files or nothing.
	Impact string `json:"impact"`
	What   string `json:"what"`
	// Places are those in the object of which the change brings it about.
	Places []string `json:"places,omitempty"`
	// Shoots are those of the difference that have the effect; absent where all have it.
	Shoots []string `json:"shoots,omitempty"`
	When   string   `json:"when,omitempty"`
}

// Document is the result for programs.
func (r *Result) Document() Document {
	d := Document{
		APIVersion: profilev1alpha1.GroupVersion.String(), Kind: "Comparison", Old: r.OldName, New: r.NewName, Objects: r.Objects, Notes: r.Notes,
		Shoots: []DocumentShoot{}, Differences: []DocumentGroup{}, Same: []DocumentSubject{},
	}
	for _, shoot := range r.Shoots {
		d.Shoots = append(d.Shoots, DocumentShoot(shoot))
	}
	for _, g := range r.Groups {
		d.Differences = append(d.Differences, r.documentGroup(g))
	}
	for _, s := range r.Same {
		d.Same = append(d.Same, DocumentSubject(s))
	}
	return d
}

func (r *Result) documentGroup(g *Group) DocumentGroup {
	out := DocumentGroup{
		DocumentSubject: DocumentSubject(g.Subject), Verdict: g.Verdict, Shoots: r.named(g.Shoots), OfShoots: len(g.Among), When: g.When,
		DeniedByOld: render.DenialOf(g.Old), DeniedByNew: render.DenialOf(g.New), Edits: []render.LineEdit{}, Effects: []DocumentEffect{},
	}
	if g.Unknown != nil {
		out.Unknown = g.Unknown.Error()
	}
	if len(g.Names) != 1 || g.Names[0] != g.Name {
		out.Names = g.Names
	}
	if g.Difference != nil {
		out.Edits = render.DifferenceOf(g.Difference).Objects[0].Edits
	}
	for _, effect := range g.Effects {
		e := DocumentEffect{Impact: string(effect.Impact), What: effect.What, Places: effect.Places, When: effect.When}
		if len(effect.Shoots) < len(g.Shoots) {
			e.Shoots = r.named(effect.Shoots)
		}
		out.Effects = append(out.Effects, e)
	}
	return out
}

func (r *Result) named(shoots []int) []string {
	titles := make([]string, len(shoots))
	for i, shoot := range shoots {
		titles[i] = r.Shoots[shoot].Title
	}
	return titles
}

// JSON writes the result as a document for programs. The style makes no difference.
func (r *Result) JSON(w io.Writer, _ render.Style) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r.Document()); err != nil {
		return fmt.Errorf("writing the comparison as JSON: %w", err)
	}
	return nil
}

// YAML writes that document as YAML. The style makes no difference.
func (r *Result) YAML(w io.Writer, _ render.Style) error {
	out, err := yaml.Marshal(r.Document())
	if err != nil {
		return fmt.Errorf("writing the comparison as YAML: %w", err)
	}
	_, err = w.Write(out)
	return err
}
