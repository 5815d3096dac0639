// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

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
	Reason   string          `json:"reason,omitempty"`
	Position source.Position `json:"position,omitzero"`
}

// LineEdit is a line that was added or removed.
type LineEdit struct {
	// Op is add or remove.
	Op string `json:"op"`
	// Path is the place of the line; items of lists are named by their keys.
	Path string `json:"path"`
	// Text is the line as a person reads it, without its indentation.
	Text string `json:"text"`
	// Author says who made the edit; it is absent where no rule explains it.
	Author
	// Depth counts the steps of indentation.
	Depth int `json:"-"`
}

// add counts an object, which is changed or not if it is not denied.
func (s *Summary) add(c *Change, changed bool) {
	s.Objects++
	switch {
	case c.Denied != nil:
		s.Denied++
	case changed:
		s.Changed++
	default:
		s.Unchanged++
	}
}

func objectDifference(c *Change) ObjectDifference {
	o := ObjectDifference{
		APIVersion: c.APIVersion, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, ControlPlane: c.ControlPlane, Note: c.Note, Shoots: c.Shoots,
		Rules: make([]RuleOutcome, 0, len(c.Applied)), Edits: []LineEdit{},
	}
	if c.Denied != nil {
		o.Denied = &Denial{Message: c.Denial()}
		if failure, ok := errors.AsType[*mutation.Failure](c.Denied); ok {
			o.Denied.Reason = string(failure.Reason)
		}
	}
	for _, a := range c.Applied {
		o.Rules = append(o.Rules, RuleOutcome{
			Name: a.Name(), Profile: a.Profile, Outcome: string(a.Outcome), Reason: a.Reason, Position: a.Position,
		})
	}
	for _, edit := range c.Edits() {
		if edit.Op != Same {
			o.Edits = append(o.Edits, LineEditOf(edit))
		}
	}
	o.Changed = len(o.Edits) > 0
	return o
}

// LineEditOf returns a line that was added or removed.
func LineEditOf(e Edit) LineEdit {
	out := LineEdit{Op: "add", Path: e.Line.Path, Text: e.Line.Text, Depth: e.Line.Depth}
	if e.Op == Removed {
		out.Op = "remove"
	}
	if e.By != nil && *e.By != NoRule {
		out.Author = *e.By
	}
	return out
}

// WriteJSON writes readable JSON: indented, and without escapes for HTML. It fails if w cannot be written.
func WriteJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}

// yamlNode returns a value as YAML. Texts inside of fields in another form than a string are added as comments.
func yamlNode(at cursor, n *document.Node) *yaml.Node {
	switch n.Kind() {
	case document.Object:
		return yamlObject(at, n)
	case document.Array:
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range n.Items() {
			out.Content = append(out.Content, yamlNode(at.item(""), item))
		}
		return out
	default:
		if text, ok := n.Text(); ok {
			return yamlText(text)
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Value: string(n.Raw())}
	}
}

// yamlObject writes the identifying member of an object or item first, and sorts the rest.
func yamlObject(at cursor, n *document.Node) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	members := maps.Collect(n.Members())
	first := rootKeys
	if at.path != "" {
		key, _ := identify(n)
		first = []string{key}
	}
	for _, key := range sortedKeys(members, first...) {
		name := yamlText(key)
		if strings.Contains(key, "\n") {
			name.Style = yaml.DoubleQuotedStyle
		}
		out.Content = append(out.Content, name, yamlNode(at.member(key), members[key]))
	}
	if text, ok := textInside(at, n); ok && !n.Get("data").Is(text) {
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
