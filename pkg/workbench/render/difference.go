// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"

	profilev1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Difference is the output in the formats json and yaml; docs/reference/output.md describes it. Fields may be added,
// but their meaning does not change within a version.
type Difference struct {
	// APIVersion is that of profiles; Kind is Difference.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Summary counts the objects.
	Summary Summary `json:"summary"`
	// Objects lists all objects in the order of the input.
	Objects []ObjectDifference `json:"objects"`
	// Old and New name the two sides of a comparison; Notes are remarks on the whole.
	Old   string   `json:"old,omitempty"`
	New   string   `json:"new,omitempty"`
	Notes []string `json:"notes,omitempty"`
}

// Summary counts objects: each is counted as one of changed, unchanged and denied.
type Summary struct {
	Objects   int `json:"objects"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Denied    int `json:"denied"`
}

// ObjectDifference is one object with its result.
type ObjectDifference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Scene names the control plane of the object; absent if there is only one.
	Scene string `json:"scene,omitempty"`
	// Note is a remark in place of the rules, such as which part of the object changes; Shoots are those that have the change.
	Note   string   `json:"note,omitempty"`
	Shoots []string `json:"shoots,omitempty"`
	// Changed says whether any line is different.
	Changed bool `json:"changed"`
	// Denied is why the object is not admitted; absent where it is.
	Denied *Denial `json:"denied,omitempty"`
	// Rules lists the rules of the object's target in the order of their application.
	Rules []RuleOutcome `json:"rules"`
	// Edits are the changed lines, in the order of the object.
	Edits []LineEdit `json:"edits"`
}

// Denial is why an object is not admitted.
type Denial struct {
	// Reason is a reason of docs/failures.md; absent if Graft did not deny the object itself.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
}

// RuleOutcome is a rule with its outcome.
type RuleOutcome struct {
	Name    string `json:"name"`
	Profile string `json:"profile,omitempty"`
	// Outcome is changed, unchanged, skipped, overridden or observed.
	Outcome string `json:"outcome"`
	// Reason explains why the rule was skipped, by which rule it was overridden, or its effect if it were applied.
	Reason   string    `json:"reason,omitempty"`
	Position *Position `json:"position,omitempty"`
}

// LineEdit is a line that was added or removed.
type LineEdit struct {
	// Op is add or remove.
	Op string `json:"op"`
	// Path is the place of the line; items of lists are named by their keys.
	Path string `json:"path"`
	// Text is the line as a person reads it, without its indentation.
	Text string `json:"text"`
	// Rule, Profile and Position say who made the edit; all are absent where no rule explains it.
	Rule     string    `json:"rule,omitempty"`
	Profile  string    `json:"profile,omitempty"`
	Position *Position `json:"position,omitempty"`
}

// Position is a place in a file; lines and columns count from 1.
type Position struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// DifferenceOf returns the results for the objects.
func DifferenceOf(changes ...*Change) Difference {
	d := Difference{
		APIVersion: profilev1alpha1.GroupVersion.String(), Kind: "Difference",
		Summary: Summary{Objects: len(changes)}, Objects: make([]ObjectDifference, 0, len(changes)),
	}
	for _, change := range changes {
		object := objectDifference(change)
		switch {
		case object.Denied != nil:
			d.Summary.Denied++
		case object.Changed:
			d.Summary.Changed++
		default:
			d.Summary.Unchanged++
		}
		d.Objects = append(d.Objects, object)
	}
	return d
}

func objectDifference(c *Change) ObjectDifference {
	o := ObjectDifference{
		APIVersion: c.APIVersion, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, Scene: c.Scene, Note: c.Note, Shoots: c.Shoots,
		Rules: make([]RuleOutcome, 0, len(c.Applied)), Edits: []LineEdit{},
	}
	if o.Denied = denialOf(c.Denied); o.Denied != nil {
		o.Denied.Message = c.Denial()
	}
	for _, a := range c.Applied {
		o.Rules = append(o.Rules, RuleOutcome{
			Name: a.Name(), Profile: a.Profile, Outcome: string(a.Outcome), Reason: a.Reason, Position: positionOf(a.Position),
		})
	}
	for _, edit := range c.Edits() {
		if edit.Op != Same {
			o.Edits = append(o.Edits, lineEdit(edit))
		}
	}
	o.Changed = len(o.Edits) > 0
	return o
}

func lineEdit(e Edit) LineEdit {
	out := LineEdit{Op: "add", Path: e.Line.Path, Text: e.Line.Text}
	if e.Op == Removed {
		out.Op = "remove"
	}
	if e.By != nil && *e.By != NoRule {
		out.Rule, out.Profile, out.Position = e.By.Rule, e.By.Profile, positionOf(e.By.Position)
	}
	return out
}

func denialOf(err error) *Denial {
	if err == nil {
		return nil
	}
	denial := &Denial{Message: err.Error()}
	var failure *mutation.Failure
	if errors.As(err, &failure) {
		denial.Reason = string(failure.Reason)
	}
	return denial
}

func positionOf(p source.Position) *Position {
	if p == (source.Position{}) {
		return nil
	}
	return &Position{File: p.File, Line: p.Line, Column: p.Column}
}
