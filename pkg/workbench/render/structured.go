// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	profilev1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Difference is the output in the formats json and yaml; docs/usage/output.md describes it. Fields may be added,
// but their meaning does not change within a version.
type Difference struct {
	// APIVersion is the apiVersion of profiles; Kind is Difference.
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
	// ControlPlane names the control plane of the object; absent if there is only one.
	ControlPlane string `json:"controlPlane,omitempty"`
	// Note is a remark in place of the rules, such as which part of the object changes; Shoots are those that have the
	// change.
	Note   string   `json:"note,omitempty"`
	Shoots []string `json:"shoots,omitempty"`
	// Changed reports whether any line is different.
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
		APIVersion: c.APIVersion, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, ControlPlane: c.ControlPlane, Note: c.Note, Shoots: c.Shoots,
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

// JSON writes a Difference as JSON. The style makes no difference. It fails if w cannot be written.
func (s Style) JSON(w io.Writer, changes ...*Change) error {
	out, err := marshal(s.differenceOf(changes), "  ")
	if err != nil {
		return fmt.Errorf("writing the changes as JSON: %w", err)
	}
	_, err = w.Write(out)
	return err
}

// YAML writes a Difference as YAML. The style makes no difference. It fails if w cannot be written.
func (s Style) YAML(w io.Writer, changes ...*Change) error {
	out, err := marshal(s.differenceOf(changes), "")
	if err != nil {
		return fmt.Errorf("writing the changes as YAML: %w", err)
	}
	return writeYAML(w, out, asWritten)
}

// differenceOf returns the changes as a document, with the sides of a comparison and its notes.
func (s Style) differenceOf(changes []*Change) Difference {
	d := DifferenceOf(changes...)
	d.Notes = s.Notes
	for _, fact := range s.About {
		switch fact.Name {
		case "OLD":
			d.Old = fact.Value
		case "NEW":
			d.New = fact.Value
		}
	}
	return d
}

// ObjectsJSON writes the objects as they are now: one by itself, any other number as a List. The style makes no
// difference. It fails if an object is not valid JSON or w cannot be written.
func (s Style) ObjectsJSON(w io.Writer, changes ...*Change) error {
	items := make([]json.RawMessage, len(changes))
	for i, change := range changes {
		shown, err := change.Shown()
		if err != nil {
			return err
		}
		items[i] = shown
	}
	var whole any = map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
	if len(items) == 1 {
		whole = items[0]
	}
	out, err := marshal(whole, "  ")
	if err != nil {
		return fmt.Errorf("writing the objects as JSON: %w", err)
	}
	_, err = w.Write(out)
	return err
}

// ObjectsYAML writes the current objects as YAML documents: texts of several lines as blocks, and base64 files with a
// comment with their text. It ignores the style. It fails if an object is not valid JSON or w cannot be written.
func (s Style) ObjectsYAML(w io.Writer, changes ...*Change) error {
	for i, change := range changes {
		shown, err := change.Shown()
		if err != nil {
			return err
		}
		if i > 0 {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		if err := writeYAML(w, shown, identifyingFirst, insides(change.Kind)...); err != nil {
			return err
		}
	}
	return nil
}

// ObjectsText writes the lines of the objects as they are now, with an empty line between two. The style makes no
// difference. It fails if an object is not valid JSON or w cannot be written.
func (s Style) ObjectsText(w io.Writer, changes ...*Change) error {
	var out bytes.Buffer
	for i, change := range changes {
		if i > 0 {
			out.WriteByte('\n')
		}
		for _, edit := range change.Edits() {
			if edit.Op != Removed {
				out.WriteString(edit.Line.String())
				out.WriteByte('\n')
			}
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// keyOrder orders the members of an object.
type keyOrder func(n *document.Node, root bool, keys []string)

// asWritten leaves members in their order.
func asWritten(*document.Node, bool, []string) {}

// identifyingFirst moves the identifying member of an object or item to the front, and sorts the rest.
func identifyingFirst(n *document.Node, root bool, keys []string) {
	first, _ := identify(n)
	weight := func(key string) int {
		switch {
		case root:
			return rank(place{}, key)
		case key == first:
			return 0
		default:
			return 1
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(weight(a), weight(b)), strings.Compare(a, b)) })
}

// writeYAML writes a JSON value as YAML: numbers with their digits, texts of several lines as blocks.
func writeYAML(w io.Writer, raw []byte, order keyOrder, inside ...Inside) error {
	parsed, err := document.Parse(raw)
	if err != nil {
		return fmt.Errorf("reading a value to write it as YAML: %w", err)
	}
	node := (&yamlForm{order, inside}).node(place{}, parsed.Root())
	if err := parsed.Err(); err != nil {
		return fmt.Errorf("reading a value to write it as YAML: %w", err)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(node), encoder.Close()); err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	_, err = w.Write(out.Bytes())
	return err
}

// yamlForm holds settings for writing YAML. Texts inside of fields in another form than a string are added as comments.
type yamlForm struct {
	order  keyOrder
	inside []Inside
}

func (f *yamlForm) node(at place, n *document.Node) *yaml.Node {
	switch n.Kind() {
	case document.Object:
		return f.object(at, n)
	case document.Array:
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range n.Items() {
			out.Content = append(out.Content, f.node(at.item(""), item))
		}
		return out
	default:
		if text, ok := n.Text(); ok {
			return yamlText(text)
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Value: string(n.Raw())}
	}
}

func (f *yamlForm) object(at place, n *document.Node) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	var keys []string
	for key := range n.Members() {
		keys = append(keys, key)
	}
	f.order(n, at.path == "", keys)
	for _, key := range keys {
		name := yamlText(key)
		if strings.Contains(key, "\n") {
			name.Style = yaml.DoubleQuotedStyle
		}
		out.Content = append(out.Content, name, f.node(at.member(key), n.Get(key)))
	}
	if text, ok := textInside(f.inside, at.shape, n); ok && !n.Get("data").Is(text) {
		out.Content[0].HeadComment = comment(text)
	}
	return out
}

// comment returns a text as a comment; each line of it stays in the comment.
func comment(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimRight("# "+oneLine(line), " ") + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// elsewhere are texts that only readers of YAML 1.1 take for something else: booleans of one letter, numbers to the
// base of 60 and marks.
var elsewhere = regexp.MustCompile(`^([yYnN=]|<<|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)$`)

// breaking are characters that some readers take for the end of a line, and the writer for nothing special.
const breaking = "\u0085\u2028\u2029\ufeff"

// yamlText returns a text, in quotes if YAML 1.1, which most parsers implement, would read another type.
func yamlText(text string) *yaml.Node {
	out := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if text == "" || ambiguous.MatchString(text) || elsewhere.MatchString(text) || strings.HasPrefix(text, "\t") || strings.ContainsAny(text, breaking) {
		out.Style = yaml.DoubleQuotedStyle
	}
	return out
}
