// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// redactor hides values of Secrets in the places where rules wrote them, and in messages.
type redactor struct {
	// places maps places with data of Secrets to the replacements.
	places map[hiddenPlace]string
	// names are list items and flags whose names are not from Secrets, so that they are shown.
	names map[string]bool
	// quoted maps the texts of values with data of Secrets to their replacements, for messages that quote them.
	quoted map[string]string
}

// hiddenPlace is a value in an object: at a path and below it, and in a text of several lines only in lines with the
// name. Without a name it is the whole text.
type hiddenPlace struct{ path, name string }

func newRedactor() redactor {
	return redactor{places: map[hiddenPlace]string{}, names: map[string]bool{}, quoted: map[string]string{}}
}

func (r redactor) empty() bool { return len(r.places) == 0 }

// addSecret hides the data of the object itself, which is a Secret. It also hides its annotations, because kubectl keeps
// a copy of the data there.
func (r redactor) addSecret(name string) {
	for _, field := range []string{"data", "stringData", "metadata.annotations"} {
		r.places[hiddenPlace{path: field}] = "(from Secret " + name + ")"
	}
}

// addStep hides the value that a step wrote from a Secret: in the lines that differ between the object before the step,
// as JSON, and the object after it, and between the object with and without the value.
func (r redactor) addStep(before []byte, step mutation.Step, o *target.Object) {
	texts := step.Value.Texts
	if structure, err := decode(step.Value.JSON); err == nil {
		texts = slices.Concat(texts, textsIn(structure))
	}
	shown := step.Value.String()
	for _, text := range texts {
		r.quote(text, shown)
	}
	flag := mutation.FlagOf(step.Place)
	for _, name := range append(textsIn(step.Write.Value.Known()), step.Place.Name, step.Place.Container, "-"+flag, "--"+flag) {
		if strings.Trim(name, "-") != "" {
			r.names[name] = true
		}
	}
	// Only a value of one line is next to its name.
	named := operation.InText(step.Place.Kind) && !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "\n") })
	hidden := len(r.places)
	r.addWritten(before, o.Document.Bytes(), named, shown)
	if without, err := step.Without(o); err == nil {
		r.addWritten(without, o.Document.Bytes(), named, shown)
	}
	if len(r.places) == hidden {
		r.addContaining(o.Document.Bytes(), texts, shown)
	}
}

// addContaining hides the values that contain one of the texts. It is for objects that already had the value, if it
// cannot be removed to find its lines.
func (r redactor) addContaining(object []byte, texts []string, shown string) {
	lines, _ := Text(object) // an unreadable object is not shown either
	for _, line := range lines {
		for part := range strings.Lines(strings.Join(texts, "\n")) {
			if part = strings.TrimSpace(part); len(part) >= shortQuote && !line.Head && strings.Contains(line.Text, part) {
				r.places[hiddenPlace{path: line.Path}] = shown
			}
		}
	}
}

// addWritten hides the values of the lines that an earlier state of the object does not have. named reports that only
// lines with the same names are hidden in texts of several lines; otherwise, these are hidden as a whole.
func (r redactor) addWritten(from, to []byte, named bool, shown string) {
	after, err := Text(to)
	if err != nil {
		return // then the object cannot be shown either
	}
	before, err := Text(from)
	if err != nil {
		before = nil
	}
	known := map[Line]bool{}
	for _, line := range before {
		known[line.uncontinued()] = true
	}
	for _, line := range after {
		if line.Head || known[line.uncontinued()] {
			continue
		}
		place := hiddenPlace{path: line.Path}
		if named && line.Literal {
			place.name = lineName.FindString(line.Text)
		}
		r.places[place] = shown
	}
}

// uncontinued returns the line without the backslash that continues it: it comes and goes with the next line.
func (l Line) uncontinued() Line {
	if l.Literal {
		l.Text = strings.TrimRight(l.Text, ` \`)
	}
	return l
}

// decode reads a JSON value whose numbers keep their digits.
func decode(raw []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// textsIn returns the scalars of a JSON value as texts.
func textsIn(value any) []string {
	var texts []string
	switch value := value.(type) {
	case nil:
	case []any:
		for _, item := range value {
			texts = append(texts, textsIn(item)...)
		}
	case map[string]any:
		for _, member := range value {
			texts = append(texts, textsIn(member)...)
		}
	default:
		texts = append(texts, fmt.Sprint(value))
	}
	return texts
}

// shortQuote is the length below which a text is part of many words, so that it is not hidden in messages.
const shortQuote = 3

// quote hides the lines of a text in messages.
func (r redactor) quote(text, shown string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= shortQuote && line != "true" && line != "false" {
			quoted := document.Quote(line)
			r.quoted[line], r.quoted[string(quoted[1:len(quoted)-1])] = shown, shown
		}
	}
}

// copy adds the hidden values of the other redactor.
func (r redactor) copy(other redactor) {
	maps.Copy(r.places, other.places)
	maps.Copy(r.names, other.names)
	maps.Copy(r.quoted, other.quoted)
}

// message returns a message with the values that rules wrote from Secrets replaced, the longest ones first.
func (r redactor) message(text string) string {
	var pairs []string
	for _, value := range slices.SortedFunc(maps.Keys(r.quoted), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		pairs = append(pairs, value, r.quoted[value])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// at returns the replacement for the values at a path: for a whole value without a name, and for lines with the name
// otherwise. It returns an empty string for values that are shown.
func (r redactor) at(path, name string) (shown string) {
	for place, from := range r.places {
		if within(path, place.path) && (place.name == "" || place.name == name) {
			shown = max(shown, from)
		}
	}
	return shown
}

// inside returns the replacement for a list item in one line that contains a hidden place.
func (r redactor) inside(path string) (shown string) {
	for place, from := range r.places {
		if within(place.path, path) {
			shown = max(shown, from)
		}
	}
	return shown
}

// within reports whether a path is at or below a place.
func within(path, place string) bool {
	rest, below := strings.CutPrefix(path, place)
	return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// lineName matches the name of a flag, an option or a field at the beginning of a line of text.
var lineName = regexp.MustCompile(`^\s*-{0,2}[\w.-]+(=|: ?$|: )`)

// line hides the value of a line in a place with data of Secrets, and keeps the name of its field, flag or item.
func (r redactor) line(l Line) Line {
	shown := r.at(l.Path, "")
	if l.Literal {
		l.Text = r.literal(l, shown)
		return l
	}
	if strings.HasPrefix(l.Text, "- {") || strings.HasPrefix(l.Text, "- [") {
		shown = max(shown, r.inside(l.Path))
	}
	if shown == "" || l.Head {
		return l
	}
	item := itemOf(l.Path)
	if strings.HasSuffix(l.Path, "]") {
		l.Text = hideItem(l.Text, item, shown, r.names[item])
	} else {
		field, _, _ := strings.Cut(l.Text, ": ")
		l.Text = field + ": " + shown
	}
	if item != "" && !r.names[item] {
		l.Path = strings.TrimSuffix(l.Path, item+"]") + "]"
	}
	return l
}

// literal returns a line of a text of several lines: hidden if all of the text is, or with its name if that is hidden.
func (r redactor) literal(l Line, shown string) string {
	if shown != "" {
		return shown
	}
	name := lineName.FindString(l.Text)
	if shown = r.at(l.Path, name); shown != "" && name != l.Text {
		return name + shown
	}
	return l.Text
}

// hideItem hides a list item in one line, except its name if that is known.
func hideItem(text, name, shown string, known bool) string {
	begin, _, several := strings.Cut(text, ", ")
	switch {
	case known && strings.HasPrefix(text, name): // a flag
		if rest := text[len(name):]; rest != "" {
			return name + rest[:1] + shown
		}
		return text
	case known && strings.HasPrefix(text, "- {") && several:
		return begin + ", " + shown + "}"
	case known && strings.HasPrefix(text, "- "): // only the name
		return text
	case strings.HasPrefix(text, "- "):
		return "- " + shown
	}
	return shown
}

// itemOf returns the name of the list item at the end of a path, or an empty string.
func itemOf(path string) string {
	if !strings.HasSuffix(path, "]") {
		return ""
	}
	return path[strings.LastIndexByte(path, '[')+1 : len(path)-1]
}

// object returns the JSON value of an object with the values of Secrets hidden, also inside of base64. Its members are
// sorted then. If there is nothing to hide, it returns the value unchanged.
func (r redactor) object(raw []byte) ([]byte, error) {
	if r.empty() {
		return raw, nil
	}
	value, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("reading a value to hide its secret parts: %w", err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r.value("", value)); err != nil {
		return nil, fmt.Errorf("writing a value with hidden parts: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// value hides values of Secrets below a path, which is written as in lines.
func (r redactor) value(path string, value any) any {
	switch value := value.(type) {
	case nil:
	case []any:
		names := namesOf(path, value)
		for i := range value {
			value[i] = r.value(path+"["+names[i]+"]", value[i])
		}
	case map[string]any:
		for key, member := range value {
			value[key] = r.value(strings.TrimPrefix(path+"."+key, "."), member)
		}
	default:
		text := fmt.Sprint(value)
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && utf8.Valid(decoded) && strings.HasSuffix(path, ".content.inline.data") {
			if shown := r.scalar(path, string(decoded)); shown != string(decoded) {
				return base64.StdEncoding.EncodeToString([]byte(shown))
			}
		}
		if shown := r.scalar(path, text); shown != text {
			return shown
		}
	}
	return value
}

// scalar returns the text of a scalar with values of Secrets hidden: in the lines of a text of several, or as a whole.
func (r redactor) scalar(path, text string) string {
	if isText(text) {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if line != "" {
				lines[i] = r.line(Line{Path: path, Text: line, Literal: true}).Text
			}
		}
		return strings.Join(lines, "\n")
	}
	shown := r.at(path, "")
	dot := strings.LastIndexByte(path, '.')
	key := path[dot+1:]
	isName := slices.Contains(identifying, key) && itemOf(path[:max(0, dot)]) == text || itemOf(path) == text
	if shown == "" || isName && r.names[text] || key == "encoding" && text == "b64" {
		return text
	}
	if flag, _, given := strings.Cut(text, "="); given && itemOf(path) == flag && r.names[flag] {
		return flag + "=" + shown
	}
	return shown
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
