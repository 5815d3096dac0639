// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// veil hides what rules made of Secrets wherever it stands in the lines of an object: also where it stood before, and in base64.
type veil struct {
	// pieces maps text to what is shown instead, wherever it stands.
	pieces map[string]string
	// places has pieces that are too short for that; they are hidden at and below a place.
	places places
}

func newVeil() veil {
	return veil{map[string]string{}, places{map[string]map[string]string{}, map[string]string{}, map[lineKey]string{}}}
}

func (v veil) empty() bool { return len(v.pieces) == 0 && v.places.empty() }

// copy hides what the other veil hides as well.
func (v veil) copy(other veil) {
	maps.Copy(v.pieces, other.pieces)
	v.places.copy(other.places)
}

// add hides a value if it comes from a Secret, and returns those of its pieces that can be hidden in their place only.
func (v veil) add(value operation.Resolved) (short []string) {
	if value.From == nil {
		return nil
	}
	for _, text := range value.Texts {
		short = append(short, v.hide(text, value.String())...)
	}
	var structure any
	if json.Unmarshal(value.JSON, &structure) == nil {
		short = append(short, v.walk(structure, value.String())...)
	}
	return short
}

func (v veil) walk(value any, shown string) (short []string) {
	switch value := value.(type) {
	case string:
		return v.hide(value, shown)
	case []any:
		for _, item := range value {
			short = append(short, v.walk(item, shown)...)
		}
	case map[string]any:
		for _, member := range value {
			short = append(short, v.walk(member, shown)...)
		}
	case float64:
		raw, _ := json.Marshal(value) // a number that was read can be written
		return v.hide(string(raw), shown)
	case bool:
		return []string{strconv.FormatBool(value)}
	}
	return short
}

// secretive is the length below which a piece stands everywhere, so that it is hidden only where a rule has written it.
const secretive = 3

// hide hides each line of a text, also as it stands in quotes and in quotes within quotes, and its base64. It returns what is too
// short for that.
func (v veil) hide(text, shown string) (short []string) {
	if text == "" {
		short = append(short, text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		quoted := escaped(line)
		for _, piece := range []string{line, quoted, escaped(quoted)} {
			if len(line) >= secretive {
				v.pieces[piece] = shown
			} else {
				short = append(short, piece)
			}
		}
	}
	if encoded := base64.StdEncoding.EncodeToString([]byte(text)); len(text) >= secretive {
		v.pieces[encoded] = shown
	} else {
		short = append(short, encoded)
	}
	return short
}

// escaped is a text as it stands between quotes, in JSON as in YAML and systemd's units.
func escaped(text string) string {
	quoted := document.Quote(text)
	return string(quoted[1 : len(quoted)-1])
}

// lines are the lines with the pieces hidden.
func (v veil) lines(edits []Edit) []Edit {
	cover := v.cover()
	for i := range edits {
		edits[i].Line = cover.line(edits[i].Line)
	}
	return edits
}

// cover is a veil that is ready to be laid over texts: the longest pieces go first, as others may be parts of them.
type cover struct {
	veil   veil
	pieces []string
}

func (v veil) cover() cover { return cover{v, longestFirst(v.pieces)} }

func longestFirst(pieces map[string]string) []string {
	return slices.SortedFunc(maps.Keys(pieces), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
}

func (c cover) text(text string) string {
	for _, piece := range c.pieces {
		text = replaceWord(text, piece, c.veil.pieces[piece])
	}
	return text
}

// line hides pieces wherever they stand, and short ones in their places.
func (c cover) line(line Line) Line {
	places := c.veil.places
	if shown, ok := places.lines[lineKey{line.Path, line.Text}]; ok {
		line.Text = withoutValue(line.Text, shown)
	} else {
		line.Text = places.text(line.Path, c.text(line.Text), false)
	}
	line.Path = c.text(line.Path)
	return line
}

// wordy is the length below which a piece is hidden only where it stands by itself: a letter is in every word.
const wordy = 6

// replaceWord replaces a piece of text, a short one only where it is no part of a word.
func replaceWord(text, piece, by string) string {
	if len(piece) >= wordy || !strings.Contains(text, piece) {
		return strings.ReplaceAll(text, piece, by)
	}
	var out strings.Builder
	for {
		at := strings.Index(text, piece)
		if at < 0 {
			out.WriteString(text)
			return out.String()
		}
		end := at + len(piece)
		alone := (at == 0 || !isWordByte(text[at-1])) && (end == len(text) || !isWordByte(text[end]))
		out.WriteString(text[:at])
		if alone {
			out.WriteString(by)
		} else {
			out.WriteString(piece)
		}
		text = text[end:]
	}
}

func isWordByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_'
}
