// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"maps"
	"slices"
	"strings"

	"znkr.io/diff"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// places are where rules have written something of Secrets.
type places struct {
	// inLines maps paths of lines to texts with their replacements in lines at and below the path. A text starts with
	// the name before the value, if there is one.
	inLines map[string]map[string]string
	// inValues are the pieces without such names, for values that stand by themselves.
	inValues map[string]map[string]string
	// whole are paths at and below which every value is hidden, as the piece is not to be found there.
	whole map[string]string
	// lines maps former lines to their replacements in all places.
	lines map[lineKey]string
}

func newPlaces() places {
	return places{map[string]map[string]string{}, map[string]map[string]string{}, map[string]string{}, map[lineKey]string{}}
}

func (p places) empty() bool { return len(p.inLines)+len(p.whole)+len(p.lines) == 0 }

func (p places) copy(other places) {
	for path, pieces := range other.inLines {
		hide(p.inLines, path, pieces)
	}
	for path, pieces := range other.inValues {
		hide(p.inValues, path, pieces)
	}
	maps.Copy(p.whole, other.whole)
	maps.Copy(p.lines, other.lines)
}

func hide(all map[string]map[string]string, path string, pieces map[string]string) {
	if all[path] == nil {
		all[path] = map[string]string{}
	}
	maps.Copy(all[path], pieces)
}

// wrote holds the lines that a step wrote: the difference between the objects before and after it, and between the
// objects with and without its value; the latter is nil if it is unknown.
type wrote struct{ removed, written []Line }

func wroteBetween(before, after, without []Line) wrote {
	var w wrote
	w.removed, w.written = differing(before, after)
	if without != nil {
		also, place := differing(after, without)
		w.written = append(w.written, append(also, place...)...)
	}
	return w
}

// add hides a scalar in the best matching lines. If no line contains it, all written lines are hidden.
func (p places) add(w wrote, name string, m masked) {
	var (
		best  []Line
		least int
	)
	for _, line := range w.written {
		if !slices.ContainsFunc(m.masks, func(m mask) bool { return m.here().in(line.Text, 0) >= 0 }) {
			continue
		}
		switch fits := m.fits(line); {
		case fits > least || best == nil:
			best, least = []Line{line}, fits
		case fits == least:
			best = append(best, line)
		}
	}
	if best == nil {
		for _, line := range w.written {
			p.lines[lineKey{line.Path, line.Text}], p.whole[line.Path] = withoutValue(line.Text, m.from), m.from
		}
		for _, line := range w.removed {
			p.lines[lineKey{line.Path, line.Text}] = withoutValue(line.Text, m.from)
		}
		return
	}
	for _, line := range best {
		p.hide(line, name, m)
	}
	for _, old := range w.removed {
		hidden := withoutValue(old.Text, m.from)
		if slices.ContainsFunc(best, func(l Line) bool { return l.Path == old.Path && withoutValue(l.Text, m.from) == hidden }) {
			p.lines[lineKey{old.Path, old.Text}] = hidden
		}
	}
}

// fits returns the number of the scalar's keys in a line's path.
func (m masked) fits(line Line) int {
	count := 0
	for _, key := range m.keys {
		if strings.Contains(line.Path+".", "."+key+".") || strings.Contains(line.Path, "["+key+"]") || strings.Contains(line.Text, key+":") {
			count++
		}
	}
	return count
}

// hide hides a scalar in a line that has it.
func (p places) hide(line Line, name string, m masked) {
	names := []string{name[strings.LastIndexAny(name, "./")+1:], line.Path[strings.LastIndexAny(line.Path, ".[")+1:]}
	if len(m.keys) > 0 {
		names = append(names, m.keys[len(m.keys)-1])
	}
	for _, one := range m.masks {
		if one.here().in(line.Text, 0) < 0 {
			continue
		}
		hide(p.inValues, line.Path, map[string]string{one.text: one.shown})
		pieces := map[string]string{one.text: one.shown}
	named:
		for _, name := range names {
			for _, between := range []string{"=", ": ", ":", " ", `="`, `: "`} {
				before := strings.Trim(name, "[]") + between
				if before != between && strings.Contains(line.Text, before+one.text) {
					pieces = map[string]string{before + one.text: before + one.shown}
					break named
				}
			}
		}
		hide(p.inLines, line.Path, pieces)
	}
}

// differing returns the lines that only one of two states has.
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

// at returns the texts to hide in lines at a path.
func (p places) at(path string) map[string]string {
	return piecesAt(p.inLines, path)
}

// valuesAt returns the texts to hide in values at a path.
func (p places) valuesAt(path string) map[string]string {
	return piecesAt(p.inValues, path)
}

func piecesAt(all map[string]map[string]string, path string) map[string]string {
	found := map[string]string{}
	for place, pieces := range all {
		if within(path, place) {
			maps.Copy(found, pieces)
		}
	}
	return found
}

// hides returns the replacement for all values at the path, or an empty string.
func (p places) hides(path string) (shown string) {
	for place, by := range p.whole {
		if within(path, place) {
			shown = max(shown, by)
		}
	}
	return shown
}

// within reports whether a path is at or below a place.
func within(path, place string) bool {
	rest, below := strings.CutPrefix(path, place)
	return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// withoutValue returns a line with its value hidden, but with the name of the flag or field.
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

// addStep hides the confidential parts of a step's value in the lines that differ between a state of the object, as
// JSON, and the object.
func (p places) addStep(from []byte, step mutation.Step, o *target.Object, all []masked) {
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
	w := wroteBetween(before, after, without)
	for _, m := range all {
		p.add(w, step.Place.Name, m)
	}
}

// addDerived hides scalars in values that the engine itself derived from values of rules, such as annotations with the
// names of Secrets.
func (p places) addDerived(from, to []byte, all []masked) {
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
		for _, m := range all {
			p.hide(line, "", m)
		}
	}
}
