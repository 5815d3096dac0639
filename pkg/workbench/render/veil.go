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

// veil hides values of Secrets. Where rules wrote them it hides whole values and lines; elsewhere, such as in messages,
// it searches for them.
type veil struct {
	// pieces maps texts to their replacements, for all places.
	pieces map[string]string
	// places are where rules have written something of Secrets.
	places places
	// shown holds the replacements, which are not searched again.
	shown map[string]string
}

func newVeil() veil {
	return veil{map[string]string{}, places{}, map[string]string{}}
}

func (v veil) empty() bool { return len(v.pieces)+len(v.places) == 0 }

// copy adds the hidden values of the other veil.
func (v veil) copy(other veil) {
	maps.Copy(v.pieces, other.pieces)
	maps.Copy(v.shown, other.shown)
	v.places.copy(other.places)
}

// masked is a scalar that a rule wrote, with the lines that contain something of Secrets.
type masked struct {
	pieces []piece
	// shown names the Secrets.
	shown string
}

// piece is the end of a line that begins with something of a Secret, and the text before it.
type piece struct{ before, text string }

// in returns the index of the confidential text in a line that contains the piece in any notation, or -1.
func (p piece) in(line string) int {
	before := forms(p.before)
	for i, text := range forms(p.text) {
		if at := strings.Index(line, before[i]+text); at >= 0 && before[i]+text != "" {
			return at + len(before[i])
		}
	}
	return -1
}

// add hides the confidential parts of a step's value, and returns its scalars with them. The values are those that
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

// scalar returns the confidential lines of a scalar. It hides confidential texts everywhere: the values of Secrets in
// it, and the results of expressions with them in one line. Text that the profile itself contains is not confidential.
func (v veil) scalar(scalar operation.Confided, values map[string]bool, written func(text string) bool) masked {
	var out masked
	for _, part := range scalar.Parts {
		text, shown := scalar.Text[part.From:part.To], part.Shown()
		v.shown[shown], out.shown = shown, shown
		if !strings.Contains(strings.TrimSpace(text), "\n") {
			v.everywhere(text, shown, written)
		}
		for value := range values {
			if value != "" && strings.Contains(text, value) {
				v.everywhere(value, shown, written)
			}
		}
		if part.To-part.From == len(scalar.Text) {
			out.pieces = append(out.pieces, piece{text: base64.StdEncoding.EncodeToString([]byte(text))})
		}
		before := scalar.Text[strings.LastIndexByte(scalar.Text[:part.From], '\n')+1 : part.From]
		after, _, _ := strings.Cut(scalar.Text[part.To:], "\n")
		for line := range strings.SplitSeq(text+after, "\n") {
			out.pieces = append(out.pieces, piece{strings.TrimLeft(before, " \t"), strings.TrimSpace(line)})
			before = ""
		}
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

// line hides the value of a line where a rule wrote it, and confidential texts of all places.
func (c cover) line(line Line) Line {
	return Line{line.Depth, c.text(line.Path), c.text(c.veil.places.line(line.Path, line.Text))}
}

// replacer replaces texts: at each place the longest match, and nothing inside of a replacement. The longest texts come
// first.
type replacer []mask

// mask is a text with its replacement.
type mask struct{ text, shown string }

// with returns the replacer with further texts.
func (r replacer) with(pieces map[string]string) replacer {
	all := slices.Clone(r)
	for _, text := range slices.Sorted(maps.Keys(pieces)) {
		all = append(all, mask{text, pieces[text]})
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
			return out.String() + text[rest:]
		}
		out.WriteString(text[rest:first] + found.shown)
		rest = first + len(found.text)
	}
}

// wordy is the length below which a text is hidden only as a separate word, because words contain any letter.
const wordy = 6

// in returns the index of the mask's text after a position, or -1.
func (m mask) in(text string, from int) int {
	for at := from; at < len(text); at++ {
		next := strings.Index(text[at:], m.text)
		if next < 0 {
			return -1
		}
		at += next
		if len(m.text) >= wordy || !isWordByte(text, at-1) && !isWordByte(text, at+len(m.text)) {
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

// hidden returns a text at a path with hidden texts replaced: the whole value where a rule wrote it, or the lines of a
// text of several.
func (w walker) hidden(path, text string) string {
	shown := w.veil.places.hides(path)
	switch {
	case shown == "", strings.HasSuffix(path, "["+text+"].name"), strings.HasSuffix(path, ".encoding") && text == "b64":
		return w.text(text)
	case isText(text):
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if line != "" {
				lines[i] = w.line(Line{Path: path, Text: line}).Text
			}
		}
		return strings.Join(lines, "\n")
	}
	name := path[strings.LastIndexByte(path, '[')+1:]
	if flag, _, given := strings.Cut(text, "="); flag+"]" == name {
		if given {
			return flag + "=" + shown
		}
		return text
	}
	return shown
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

// places map the paths of lines that rules wrote with something of Secrets to the names before the values, and these to
// replacements.
type places map[string]map[string]string

func (p places) copy(other places) {
	for path, names := range other {
		for name, shown := range names {
			p.add(path, name, shown)
		}
	}
}

func (p places) add(path, name, shown string) {
	if p[path] == nil {
		p[path] = map[string]string{}
	}
	p[path][name] = shown
}

// hides returns the replacement for all values at the path, or an empty string.
func (p places) hides(path string) (shown string) {
	for place, names := range p {
		if within(path, place) {
			shown = max(shown, slices.Max(slices.Collect(maps.Values(names))))
		}
	}
	return shown
}

// line returns the text of a line, with the value replaced where a rule wrote something of Secrets with the same name.
func (p places) line(path, text string) string {
	hidden := text
	for place, names := range p {
		if !within(path, place) {
			continue
		}
		for name, shown := range names {
			line, ok := withoutValue(text, name, shown)
			shorter := cmp.Or(cmp.Compare(len(line), len(hidden)), strings.Compare(line, hidden)) < 0
			if ok && (shorter || hidden == text) {
				hidden = line
			}
		}
	}
	return hidden
}

// within reports whether a path is at or below a place.
func within(path, place string) bool {
	rest, below := strings.CutPrefix(path, place)
	return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// nameOf returns the beginning of a line, such as the name of a flag or field, before its value, which begins at or
// before an offset.
func nameOf(line string, value int) string {
	name := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	rest, item := strings.CutPrefix(line[len(name):], "- ")
	if item {
		name += "- "
	}
	end := strings.IndexAny(rest, "=: ")
	if strings.HasPrefix(rest, "{") {
		end = strings.LastIndex(rest[:max(0, min(value-len(name), len(rest)-1))], ":")
	}
	if end >= 0 && len(name)+end < value {
		name += rest[:end]
	}
	return name
}

// withoutValue returns a line that begins with a name, with its value hidden. It returns false for other lines, and
// where the value follows in further lines.
func withoutValue(line, name, shown string) (string, bool) {
	rest, ok := strings.CutPrefix(line, name)
	switch {
	case !ok, rest == "":
		return line, false
	case strings.Trim(name, " \t-") == "":
		return name + shown, true
	case rest == ":", rest == ": |", strings.IndexByte("=: ", rest[0]) < 0:
		return line, false
	case rest[0] == ':':
		return name + ": " + shown + strings.Repeat("}", max(0, strings.Count(name, "{")-strings.Count(name, "}"))), true
	}
	return name + rest[:1] + shown, true
}

// addStep hides the confidential parts of a step's value: in the lines that differ between a state of the object, as
// JSON, and the object, and between the object and one without the value. If none of these lines contains a scalar, all
// are hidden.
func (p places) addStep(from []byte, step mutation.Step, o *target.Object, all []masked) {
	after, err := Text(o.Document.Bytes())
	if err != nil {
		return // neither can the object be shown
	}
	written := writtenSince(from, after)
	if object, err := step.Without(o); err == nil {
		written = append(written, writtenSince(object, after)...)
	}
	for _, m := range all {
		if p.hide(written, m) {
			continue
		}
		for _, line := range written {
			p.add(line.Path, nameOf(line.Text, len(line.Text)), m.shown)
		}
	}
}

// addDerived hides scalars in values that the engine itself derived from values of rules, such as annotations with the
// names of Secrets.
func (p places) addDerived(from, to []byte, all []masked) {
	after, err := Text(to)
	if err != nil {
		return
	}
	written := writtenSince(from, after)
	for _, m := range all {
		p.hide(written, m)
	}
}

// hide hides a scalar in the lines that contain it. It reports whether there are any.
func (p places) hide(lines []Line, m masked) bool {
	found := false
	for _, line := range lines {
		for _, piece := range m.pieces {
			if at := piece.in(line.Text); at >= 0 {
				p.add(line.Path, nameOf(line.Text, at), m.shown)
				found = true
			}
		}
	}
	return found
}

// writtenSince returns the lines that an earlier state of the object, as JSON, does not have.
func writtenSince(from []byte, after []Line) []Line {
	before, err := Text(from)
	if err != nil {
		return after
	}
	var written []Line
	for _, edit := range diff.Edits(before, after, diff.Minimal()) {
		if edit.Op == diff.Insert {
			written = append(written, edit.Y)
		}
	}
	return written
}
