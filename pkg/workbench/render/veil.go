// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// veil hides values from Secrets in the places where rules wrote them, and confidential ones everywhere: in their
// former places, and in base64.
type veil struct {
	// pieces maps texts to their replacements, for all places.
	pieces map[string]string
	// places are where rules have written something of Secrets.
	places places
	// shown holds the replacements, which are not searched again.
	shown map[string]string
}

func newVeil() veil {
	return veil{map[string]string{}, newPlaces(), map[string]string{}}
}

func (v veil) empty() bool { return len(v.pieces) == 0 && v.places.empty() }

// copy adds the hidden values of the other veil.
func (v veil) copy(other veil) {
	maps.Copy(v.pieces, other.pieces)
	maps.Copy(v.shown, other.shown)
	v.places.copy(other.places)
}

// mask is a text that a rule wrote, with its replacement.
type mask struct {
	text, shown string
	// place restricts the mask to the place where a rule wrote it.
	place bool
}

// masked is a scalar that a rule wrote, with the masks of its lines in every possible notation.
type masked struct {
	keys  []string
	masks []mask
	// from names the Secrets.
	from string
}

// add hides the confidential parts of a step's value, and returns the masks for its place. The values are those that
// lookups found in Secrets.
func (v veil) add(ctx context.Context, step mutation.Step, values map[string]bool) []masked {
	if step.Value.From == nil {
		return nil
	}
	confided, err := step.Confided(ctx)
	if err != nil {
		confided = wholly(step.Value) // the confidential part is unknown
	}
	all := make([]masked, len(confided))
	for i, scalar := range confided {
		all[i] = v.scalar(scalar, values, step.Writes)
	}
	return all
}

// wholly marks all scalars of a value as completely from Secrets.
func wholly(value operation.Resolved) []operation.Confided {
	var (
		all  []operation.Confided
		walk func(value any)
	)
	add := func(text string) {
		all = append(all, operation.Confided{Text: text, Parts: []operation.ConfidedPart{{To: len(text), Secrets: value.From}}})
	}
	walk = func(value any) {
		switch value := value.(type) {
		case string:
			add(value)
		case []any:
			for _, item := range value {
				walk(item)
			}
		case map[string]any:
			for _, member := range value {
				walk(member)
			}
		case float64:
			raw, _ := json.Marshal(value) // a number that was read can be written
			add(string(raw))
		case bool:
			add(strconv.FormatBool(value))
		}
	}
	for _, text := range value.Texts {
		add(text)
	}
	var structure any
	if json.Unmarshal(value.JSON, &structure) == nil {
		walk(structure)
	}
	return all
}

// scalar returns the masks of the lines of a scalar. It hides confidential texts everywhere: the values of Secrets in
// it, and the results of expressions with them in one line. Text that the profile itself contains is not confidential.
func (v veil) scalar(scalar operation.Confided, values map[string]bool, written func(text string) bool) masked {
	out := masked{keys: scalar.Keys}
	for _, part := range scalar.Parts {
		text, shown := scalar.Text[part.From:part.To], part.Shown()
		v.shown[shown], out.from = shown, shown
		if !strings.Contains(strings.TrimSpace(text), "\n") {
			v.everywhere(text, shown, written)
		}
		for value := range values {
			if value != "" && strings.Contains(text, value) {
				v.everywhere(value, shown, written)
			}
		}
		if part.To-part.From == len(scalar.Text) {
			out.masks = append(out.masks, mask{text: base64.StdEncoding.EncodeToString([]byte(text)), shown: shown})
		}
	}
	start := 0
	for line := range strings.SplitAfterSeq(scalar.Text, "\n") {
		out.masks = append(out.masks, maskOf(scalar, start, start+len(line))...)
		start += len(line)
	}
	return out
}

// everywhere hides the confidential lines of a text, and its base64, in all places.
func (v veil) everywhere(text, shown string, written func(text string) bool) {
	several := strings.Contains(strings.TrimSpace(text), "\n")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if len(line) < secretive || common[strings.ToLower(line)] || several && frame.MatchString(line) || written(line) {
			continue
		}
		for _, piece := range forms(line) {
			v.pieces[piece] = shown
		}
	}
	if trimmed := strings.TrimSpace(text); len(trimmed) >= secretive && !common[strings.ToLower(trimmed)] && !written(text) {
		v.pieces[base64.StdEncoding.EncodeToString([]byte(text))] = shown
	}
}

// frame matches lines that are common to many documents, regardless of their content.
var frame = regexp.MustCompile(`^(-----.*|#.*|\[[^\]]*\]|[][{}(),;]*|(- )?[\w.-]+:|(apiVersion|kind|name|namespace|type): .*)$`)

// maskOf returns the mask of the line between two offsets in every notation, or nil if it contains nothing
// confidential.
func maskOf(scalar operation.Confided, from, to int) []mask {
	trimmed := strings.TrimSpace(scalar.Text[from:to])
	from += strings.Index(scalar.Text[from:to], trimmed)
	to = from + len(trimmed)
	var shown strings.Builder
	at, hides := from, false
	for _, part := range scalar.Parts {
		begin, end := max(part.From, from), min(part.To, to)
		if begin > end || begin == end && part.From != part.To {
			continue
		}
		shown.WriteString(scalar.Text[at:begin] + part.Shown())
		at, hides = end, true
	}
	if !hides {
		return nil
	}
	shown.WriteString(scalar.Text[at:to])
	var all []mask
	is := forms(shown.String())
	for i, was := range forms(trimmed) {
		all = append(all, mask{text: was, shown: is[i]})
	}
	return all
}

// forms returns a line unquoted, in quotes, and in quotes within quotes.
func forms(line string) []string {
	quoted := escaped(line)
	return []string{line, quoted, escaped(quoted)}
}

// secretive is the length below which a text occurs everywhere, so that it is hidden only in the place where a rule
// wrote it.
const secretive = 3

// common are texts that tell nothing, and stand everywhere.
var common = set("true", "false", "null", "none", "yes", "off", "auto", "default", "enabled", "disabled", "always", "never")

func set(texts ...string) map[string]bool {
	all := map[string]bool{}
	for _, text := range texts {
		all[text] = true
	}
	return all
}

// escaped returns a text in the notation inside of quotes, which is the same in JSON, YAML and systemd units.
func escaped(text string) string {
	quoted := document.Quote(text)
	return string(quoted[1 : len(quoted)-1])
}

// lines returns the lines with hidden texts replaced.
func (v veil) lines(edits []Edit) []Edit {
	cover := v.cover()
	for i := range edits {
		edits[i].Line = cover.line(edits[i].Line)
	}
	return edits
}

// cover is a veil that is ready to be laid over texts.
type cover struct {
	veil   veil
	pieces replacer
}

func (v veil) cover() cover { return cover{v, replacer{}.with(v.shown).with(v.pieces)} }

func (c cover) text(text string) string { return c.pieces.replace(text) }

// line hides texts of all places, and those of the line's own place.
func (c cover) line(line Line) Line {
	places := c.veil.places
	if shown, ok := places.lines[lineKey{line.Path, line.Text}]; ok {
		line.Text = shown
	} else {
		line.Text = c.pieces.here(places.at(line.Path)).replace(line.Text)
	}
	line.Path = c.text(line.Path)
	return line
}
