// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/colour"
)

// Written is a place that a rule of an interpretation writes.
type Written struct {
	// Place is the path in the object; of a rule with items in the item, which Item calls as the items of the rule do.
	Place string `json:"place"`
	Item  string `json:"item,omitempty"`
	// Value is what stands there now, and Before what stood there when the rule was asked; absent where nothing does. Of a Secret they say that only.
	Value  json.RawMessage `json:"value,omitempty"`
	Before json.RawMessage `json:"before,omitempty"`
	// Position is where the profile names the place.
	Position *Position `json:"position,omitempty"`
}

// places are where rules, and the places that they write, stand in documents, by what traces call them.
func places(documents []*profile.Interpreter) map[string]source.Position {
	found := map[string]source.Position{}
	for _, d := range documents {
		add := func(p source.Place) { found[d.Metadata.Name+": "+p.Path] = p.Node.Position() }
		kinds := source.Place{Node: d.Node}.At("kinds")
		for i := range kinds.Value().Items() {
			for _, o := range interpreter.Operations() {
				rules := kinds.Item(i).At(string(o))
				for j := range rules.Value().Items() {
					at := rules.Item(j)
					add(at)
					add(at.At("field"))
					at.At("set").Members(func(key, _ source.Place) { add(key) })
					for _, list := range []string{"keep", "fields", "remove"} {
						for k := range at.At(list).Value().Items() {
							add(at.At(list).Item(k))
						}
					}
				}
			}
		}
	}
	return found
}

// written makes what a rule wrote fit to be shown; the items are those of the rule. Of a Secret, no value is shown.
func (r *interpretationReader) written(all []rule.Written, items []Term) []Written {
	var shown []Written
	for _, w := range all {
		out := Written{Place: w.Path, Value: r.hidden(w.Now), Before: r.hidden(w.Before), Position: position(r.places[w.At])}
		if w.Item >= 0 {
			out.Item = items[w.Item].Item
		}
		shown = append(shown, out)
	}
	return shown
}

// hidden is a value, or of a Secret that there is one.
func (r *interpretationReader) hidden(value json.RawMessage) json.RawMessage {
	if value == nil || !r.secret {
		return value
	}
	raw, err := json.Marshal(fromSecret(r.name))
	if err != nil {
		return nil
	}
	return raw
}

// written writes a place and what became of it: in one line where that is short, else as YAML below it. rule is where the rule stands.
func (s Style) written(out *strings.Builder, w *Written, rule *Position) {
	head, text := "    "+s.paint(colour.Dim, "writes")+" ", w.Place
	if w.Item != "" {
		text = s.paint(colour.Dim, "for "+w.Item+":") + " " + text
	}
	long := len(w.Value) > shortValue && (w.Value[0] == '{' || w.Value[0] == '[')
	switch {
	case w.Value == nil && w.Before == nil:
		text += ": nothing, as before"
	case w.Value == nil:
		text += ": nothing, in place of " + s.cut(string(w.Before))
	case long:
		text += ":"
	default:
		text += ": " + s.cut(string(w.Value))
	}
	switch {
	case w.Value == nil:
	case bytes.Equal(w.Value, w.Before):
		text += s.between(long) + "already so"
	case w.Before != nil:
		text += s.between(long) + "in place of " + s.cut(string(w.Before))
	}
	if w.Position != nil && rule != nil && w.Position.Line != rule.Line {
		text += s.paint(colour.Dim, fmt.Sprintf(" (%s:%d)", s.File(w.Position.File), w.Position.Line))
	}
	out.WriteString(s.hang(head, 12, text))
	if long {
		s.lines(out, w.Value, 9)
	}
}

// between stands between a value and what is said of it.
func (Style) between(long bool) string {
	if long {
		return " "
	}
	return ", "
}

// lines writes a value as YAML, and not too much of it.
func (s Style) lines(out *strings.Builder, value json.RawMessage, indent int) {
	text, err := yaml.JSONToYAML(value)
	if err != nil {
		text = value
	}
	margin := strings.Repeat(" ", indent)
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	for n, line := range lines {
		if n == mostLines && len(lines) > mostLines+1 {
			out.WriteString(margin + s.paint(colour.Dim, "… "+count(len(lines)-n, "more line", "more lines")) + "\n")
			break
		}
		out.WriteString(margin + s.fit(line, indent) + "\n")
	}
}
