// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"znkr.io/diff"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
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

// replacer replaces texts: at each place the longest match, and nothing inside of a replacement. The longest texts come
// first.
type replacer []mask

// with returns the replacer with further texts.
func (r replacer) with(pieces map[string]string) replacer {
	if len(pieces) == 0 {
		return r
	}
	return r.and(pieces, false)
}

// here returns the replacer with further texts that are replaced only in the place where a rule wrote them.
func (r replacer) here(pieces map[string]string) replacer {
	if len(pieces) == 0 {
		return r
	}
	return r.and(pieces, true)
}

func (r replacer) and(pieces map[string]string, place bool) replacer {
	all := slices.Clone(r)
	for _, piece := range slices.Sorted(maps.Keys(pieces)) {
		if piece != "" {
			all = append(all, mask{piece, pieces[piece], place})
		}
	}
	slices.SortStableFunc(all, func(a, b mask) int { return cmp.Compare(len(b.text), len(a.text)) })
	return all
}

func (r replacer) replace(text string) string {
	var out strings.Builder
	for rest := 0; ; {
		first, found := len(text), mask{}
		for _, m := range r {
			if at := m.in(text, rest); at >= 0 && at < first {
				first, found = at, m
			}
		}
		if found.text == "" {
			if rest == 0 {
				return text
			}
			return out.String() + text[rest:]
		}
		out.WriteString(text[rest:first] + found.shown)
		rest = first + len(found.text)
	}
}

const (
	// wordy is the length below which a text is hidden only as a separate word, because words contain any letter.
	wordy = 6
	// telling is the length from which a text of letters is not a word of a natural language.
	telling = 16
)

// here returns the mask for the place where a rule wrote it.
func (m mask) here() mask { return mask{m.text, m.shown, true} }

// in returns the index of the mask's text after a position, or -1. A short text must not be part of a word. Outside of
// the place where a rule wrote it, a natural word must also not be part of a name.
func (m mask) in(text string, from int) int {
	if m.text == "" {
		return -1
	}
	word := strings.Trim(strings.ToLower(m.text), "abcdefghijklmnopqrstuvwxyz") == ""
	anywhere := len(m.text) >= telling || len(m.text) >= wordy && (m.place || !word)
	for at := from; at < len(text); at++ {
		next := strings.Index(text[at:], m.text)
		if next < 0 {
			return -1
		}
		at += next
		end := at + len(m.text)
		if anywhere || !isWordByte(text, at-1) && !isWordByte(text, end) && (m.place || !inName(text, at-1, -1) && !inName(text, end, 1)) {
			return at
		}
	}
	return -1
}

func isWordByte(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	b := text[at]
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_'
}

// inName reports whether the byte joins a word to another one, or starts a flag.
func inName(text string, at, step int) bool {
	return at >= 0 && at < len(text) && strings.IndexByte("-./", text[at]) >= 0 && (text[at] == '-' || isWordByte(text, at+step))
}

// object returns the JSON value at a path of an object with hidden texts replaced in every key and value, also inside
// of base64. Its members are sorted then. If there is nothing to hide, it returns the value unchanged.
func (c cover) object(path string, raw []byte) ([]byte, error) {
	if c.veil.empty() {
		return raw, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("reading a value to hide its secret parts: %w", err)
	}
	out, err := marshal(walker{c}.value(path, value), "")
	if err != nil {
		return nil, fmt.Errorf("writing a value with hidden parts: %w", err)
	}
	return bytes.TrimSpace(out), nil
}

// walker lays a cover over a value, with paths as lines have them.
type walker struct {
	cover
}

func (w walker) value(path string, value any) any {
	switch value := value.(type) {
	case string:
		return w.encoded(path, value)
	case json.Number:
		return w.plain(path, value.String(), value)
	case bool:
		if shown := w.hidden(path, strconv.FormatBool(value)); shown != strconv.FormatBool(value) {
			return shown
		}
	case []any:
		names := namesOf(path, value)
		for i := range value {
			value[i] = w.value(path+"["+names[i]+"]", value[i])
		}
	case map[string]any:
		hidden := make(map[string]any, len(value))
		for key, member := range value {
			hidden[w.text(key)] = w.value(strings.TrimPrefix(path+"."+key, "."), member)
		}
		return hidden
	}
	return value
}

// plain returns an unquoted value, or its replacement.
func (w walker) plain(path, text string, value any) any {
	if shown := w.hidden(path, text); shown != text {
		return shown
	}
	return value
}

// hidden returns a text at a path with hidden texts replaced.
func (w walker) hidden(path, text string) string {
	places := w.veil.places
	if shown := places.hides(path); shown != "" {
		if strings.HasPrefix(text, "-") && strings.Contains(text, "=") {
			return withoutValue(text, shown)
		}
		return shown
	}
	pieces := places.valuesAt(path)
	if isText(text) {
		pieces = places.at(path)
	}
	return w.pieces.here(pieces).replace(text)
}

// encoded replaces hidden texts in a text, or in its decoded base64, as for a file in an OperatingSystemConfig.
func (w walker) encoded(path, text string) string {
	if shown, whole := w.veil.pieces[text]; whole {
		return shown
	}
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && utf8.Valid(decoded) {
		if shown := w.hidden(path, string(decoded)); shown != string(decoded) {
			return base64.StdEncoding.EncodeToString([]byte(shown))
		}
	}
	return w.hidden(path, text)
}

// namesOf returns the names of list items in the paths of lines: their keys, or the flags of a command line.
func namesOf(path string, items []any) []string {
	names := make([]string, len(items))
	command := strings.HasSuffix(path, ".command") || strings.HasSuffix(path, ".args")
	before := "" // the flag that takes the next token as its value
	for i, item := range items {
		switch item := item.(type) {
		case map[string]any:
			for _, key := range identifying {
				if name, ok := item[key].(string); ok && name != "" {
					names[i] = name
					break
				}
			}
		case string:
			switch name, _, given := strings.Cut(item, "="); {
			case command && strings.HasPrefix(item, "-"):
				if names[i], before = name, name; given {
					before = ""
				}
			case command:
				names[i], before = before, ""
			}
		}
	}
	return names
}

// marshal writes JSON as people read it: without escapes for HTML.
func marshal(value any, indent string) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

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
