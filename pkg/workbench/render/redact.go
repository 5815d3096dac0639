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

// redactor hides values of Secrets in the places where rules wrote them, and in messages.
type redactor struct {
	// places are the places where rules wrote data of Secrets.
	places places
	// quoted maps the texts of these values to their replacements, for messages that quote them.
	quoted map[string]string
	// data replaces the values of the object itself if it is a Secret; empty otherwise.
	data string
}

func newRedactor() redactor { return redactor{places: places{}, quoted: map[string]string{}} }

func (r redactor) empty() bool { return len(r.places) == 0 && r.data == "" }

// secretFields lists the fields of a Secret that are hidden: its data, and annotations, because kubectl keeps a copy of
// the data there.
var secretFields = []string{"data", "stringData", "metadata.annotations"}

// fieldOf returns the hidden field of a Secret that contains the path, or an empty string for other objects and paths.
func (r redactor) fieldOf(path string) string {
	i := slices.IndexFunc(secretFields, func(field string) bool { return path == field || strings.HasPrefix(path, field+".") })
	if i < 0 || r.data == "" {
		return ""
	}
	return secretFields[i]
}

// copy adds the hidden values of the other redactor.
func (r redactor) copy(other redactor) {
	maps.Copy(r.quoted, other.quoted)
	r.places.copy(other.places)
}

// message returns a message with the values that rules wrote from Secrets replaced, the longest ones first.
func (r redactor) message(text string) string {
	values := slices.SortedFunc(maps.Keys(r.quoted), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	for _, value := range values {
		text = strings.ReplaceAll(text, value, r.quoted[value])
	}
	return text
}

// masked is a scalar that a rule wrote, with the lines that contain data of Secrets.
type masked struct {
	pieces []piece
	// shown names the Secrets.
	shown string
}

// piece is the end of a line that begins with data of a Secret, and the text before it.
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

// add returns the scalars of a step's value that contain data of Secrets.
func (r redactor) add(ctx context.Context, step mutation.Step) []masked {
	if step.Value.From == nil {
		return nil
	}
	scalars, err := step.SecretScalars(ctx)
	if err != nil {
		scalars = wholly(step.Value) // the confidential part is unknown
	}
	all := make([]masked, len(scalars))
	for i, scalar := range scalars {
		all[i] = r.scalar(scalar)
	}
	return all
}

// wholly marks all scalars of a value as completely from Secrets.
func wholly(value operation.Resolved) []operation.SecretScalar {
	var (
		all  []operation.SecretScalar
		walk func(value any)
	)
	add := func(text string) {
		all = append(all, operation.SecretScalar{Text: text, Parts: []operation.SecretPart{{To: len(text), Secrets: value.From}}})
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

// shortQuote is the length below which a text is part of many words, so that it is not hidden in messages.
const shortQuote = 3

// scalar returns the confidential lines of a scalar.
func (r redactor) scalar(scalar operation.SecretScalar) masked {
	var out masked
	for _, part := range scalar.Parts {
		text := scalar.Text[part.From:part.To]
		out.shown = part.Shown()
		if part.To-part.From == len(scalar.Text) {
			out.pieces = append(out.pieces, piece{text: base64.StdEncoding.EncodeToString([]byte(text))})
		}
		before := scalar.Text[strings.LastIndexByte(scalar.Text[:part.From], '\n')+1 : part.From]
		after, _, _ := strings.Cut(scalar.Text[part.To:], "\n")
		for line := range strings.SplitSeq(text+after, "\n") {
			out.pieces = append(out.pieces, piece{strings.TrimLeft(before, " \t"), strings.TrimSpace(line)})
			before = ""
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); len(line) >= shortQuote && line != "true" && line != "false" {
				r.quoted[line], r.quoted[escaped(line)] = out.shown, out.shown
			}
		}
	}
	return out
}

// forms returns a line unquoted, in quotes, and in quotes within quotes.
func forms(line string) []string {
	quoted := escaped(line)
	return []string{line, quoted, escaped(quoted)}
}

// escaped returns a text in the notation inside of quotes, which is the same in JSON, YAML and systemd units.
func escaped(text string) string {
	quoted := document.Quote(text)
	return string(quoted[1 : len(quoted)-1])
}

// line hides the value of a line where a rule wrote it, and of a Secret except for its keys.
func (r redactor) line(line Line) Line {
	line.Text = r.places.line(line.Path, line.Text)
	field := r.fieldOf(line.Path)
	switch head := strings.Count(field, ".") + 1; {
	case field == "" || line.Depth < head:
	case line.Depth > head: // a line of a text of several
		line.Text = r.data
	default:
		line.Text = strings.TrimPrefix(line.Path, field+".") + ": " + r.data
	}
	return line
}

// object returns the JSON value of an object with the values of Secrets hidden, also inside of base64. Its members are
// sorted then. If there is nothing to hide, it returns the value unchanged.
func (r redactor) object(raw []byte) ([]byte, error) {
	if r.empty() {
		return raw, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("reading a value to hide its secret parts: %w", err)
	}
	out, err := marshal(r.value("", value), "")
	if err != nil {
		return nil, fmt.Errorf("writing a value with hidden parts: %w", err)
	}
	return bytes.TrimSpace(out), nil
}

// value hides values of Secrets below a path, which is written as in lines.
func (r redactor) value(path string, value any) any {
	_, members := value.(map[string]any)
	if !members && value != nil && r.fieldOf(path) != "" {
		return r.data
	}
	switch value := value.(type) {
	case string:
		return r.encoded(path, value)
	case json.Number:
		return r.plain(path, value.String(), value)
	case bool:
		return r.plain(path, strconv.FormatBool(value), value)
	case []any:
		names := namesOf(path, value)
		for i := range value {
			value[i] = r.value(path+"["+names[i]+"]", value[i])
		}
	case map[string]any:
		for key, member := range value {
			value[key] = r.value(strings.TrimPrefix(path+"."+key, "."), member)
		}
	}
	return value
}

// plain returns an unquoted value, or its replacement.
func (r redactor) plain(path, text string, value any) any {
	if shown := r.hidden(path, text); shown != text {
		return shown
	}
	return value
}

// hidden returns a text at a path: hidden as a whole where a rule wrote it, and by line if it has several.
func (r redactor) hidden(path, text string) string {
	shown := r.places.hides(path)
	switch {
	case shown == "", strings.HasSuffix(path, "["+text+"].name"), strings.HasSuffix(path, ".encoding") && text == "b64":
		return text
	case isText(text):
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if line != "" {
				lines[i] = r.places.line(path, line)
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

// encoded hides values of Secrets in a text, or in its decoded base64, as for a file in an OperatingSystemConfig.
func (r redactor) encoded(path, text string) string {
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err == nil && utf8.Valid(decoded) && strings.HasSuffix(path, ".content.inline.data") {
		if shown := r.hidden(path, string(decoded)); shown != string(decoded) {
			return base64.StdEncoding.EncodeToString([]byte(shown))
		}
	}
	return r.hidden(path, text)
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

// marshal writes readable JSON: without escapes for HTML.
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

// places map the paths of lines with data of Secrets to the names before the values, and these to replacements.
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

// line returns the text of a line, with the value replaced where a rule wrote data of Secrets with the same name.
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
		return // then the object cannot be shown either
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
