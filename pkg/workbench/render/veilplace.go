// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"maps"
	"regexp"
	"strings"

	"znkr.io/diff"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// places are where rules have written something of Secrets that is too short to be looked for in the whole object.
type places struct {
	// short maps paths, as lines have them, to pieces, and those to what is shown instead at and below the path. A text of several
	// lines, such as a unit, is one place.
	short map[string]map[string]string
	// whole are paths at and below which every value is hidden, as the piece is not to be found there.
	whole map[string]string
	// lines are hidden wherever they stand: what was there before.
	lines map[lineKey]string
}

func (p places) empty() bool { return len(p.short)+len(p.whole)+len(p.lines) == 0 }

func (p places) copy(other places) {
	for path, pieces := range other.short {
		for piece, shown := range pieces {
			p.hide(path, piece, shown)
		}
	}
	maps.Copy(p.whole, other.whole)
	maps.Copy(p.lines, other.lines)
}

func (p places) hide(path, piece, shown string) {
	if p.short[path] == nil {
		p.short[path] = map[string]string{}
	}
	p.short[path][piece] = shown
}

// add hides pieces in what a step wrote: that by which the object after it differs from the one before, and from the one without
// what the step writes, which is nil where nobody knows.
func (p places) add(before, after, without []Line, pieces []string, shown string) {
	removed, written := differing(before, after)
	if without != nil {
		also, place := differing(after, without)
		written = append(written, append(also, place...)...)
	}
	for _, line := range removed {
		p.lines[lineKey{line.Path, line.Text}] = shown
	}
	found := false
	for _, line := range written {
		for _, piece := range pieces {
			if piece != "" && replaceWord(line.Text, piece, "") != line.Text {
				p.hide(line.Path, piece, shown)
				found = true
			}
		}
	}
	for _, line := range written {
		if !found {
			p.lines[lineKey{line.Path, line.Text}], p.whole[line.Path] = shown, shown
		}
	}
}

// differing are the lines that only one of two states has.
func differing(x, y []Line) (inX, inY []Line) {
	for _, edit := range diff.Edits(x, y, diff.Minimal()) {
		switch edit.Op {
		case diff.Delete:
			inX = append(inX, edit.X)
		case diff.Insert:
			inY = append(inY, edit.Y)
		}
	}
	return inX, inY
}

// text is a text at a path with the pieces for that place hidden. A loose path has no names of items.
func (p places) text(path, text string, loose bool) string {
	for place, pieces := range p.short {
		if !within(path, place, loose) {
			continue
		}
		for _, piece := range longestFirst(pieces) {
			text = replaceWord(text, piece, pieces[piece])
		}
	}
	return text
}

// hides is what is shown in place of every value at the path; empty where nothing is.
func (p places) hides(path string, loose bool) (shown string) {
	for place, by := range p.whole {
		if within(path, place, loose) {
			shown = max(shown, by)
		}
	}
	return shown
}

// within says whether a path is at or below a place.
func within(path, place string, loose bool) bool {
	if loose {
		path, place = shapeOf(path), shapeOf(place)
	}
	rest, below := strings.CutPrefix(path, place)
	return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// named are the steps of a path that stand for items of lists: a name, or an index as patches have it.
var named = regexp.MustCompile(`\[[^\]]*\]|\.([0-9]+|-)(\.|$)`)

// shapeOf is a path without what tells items from each other.
func shapeOf(path string) string {
	for {
		shape := named.ReplaceAllString(path, "[]$2")
		if shape == path {
			return shape
		}
		path = shape
	}
}

// withoutValue is a line of which the value is hidden, and the name of the flag or the field is left.
func withoutValue(line, shown string) string {
	text := strings.TrimLeft(line, " \t")
	indent := line[:len(line)-len(text)]
	if strings.HasSuffix(text, ":") || strings.HasSuffix(text, ": |") {
		return line
	}
	if rest, item := strings.CutPrefix(text, "- "); item {
		if indent, text = indent+"- ", rest; strings.HasPrefix(text, "{") {
			return indent + shown
		}
	}
	if at := strings.IndexAny(text, "=: "); at >= 0 {
		head := text[:at+1]
		if text[at] == ':' {
			head += " "
		}
		return indent + head + shown
	}
	return indent + shown
}

// addStep hides pieces of the value of a step, which led from one state of the object, as JSON, to that of the object.
func (p places) addStep(from []byte, step mutation.Step, o *target.Object, pieces []string) {
	before, err := Text(from)
	if err != nil {
		return // neither can the object be shown
	}
	after, err := Text(o.Document.Bytes())
	if err != nil {
		return
	}
	var without []Line
	if object, err := step.Without(o); err == nil {
		without, _ = Text(object)
	}
	p.add(before, after, without, pieces, step.Value.String())
}

// addDerived hides pieces in what the engine itself made of values of rules, such as annotations with the names of Secrets.
func (p places) addDerived(from, to []byte, pieces map[string]string) {
	before, err := Text(from)
	if err != nil {
		return
	}
	after, err := Text(to)
	if err != nil {
		return
	}
	_, written := differing(before, after)
	for _, line := range written {
		for piece, shown := range pieces {
			if piece != "" && replaceWord(line.Text, piece, "") != line.Text {
				p.hide(line.Path, piece, shown)
			}
		}
	}
}
