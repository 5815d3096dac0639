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
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// veil hides what rules made of Secrets wherever it stands in the lines of an object: also where it stood before, and in base64.
// It maps pieces of text to what is shown instead.
type veil map[string]string

// add hides a value if it comes from a Secret.
func (v veil) add(value operation.Resolved) {
	if value.From == nil {
		return
	}
	for _, text := range value.Texts {
		v.hide(text, value.String())
	}
	var structure any
	if json.Unmarshal(value.JSON, &structure) == nil {
		v.walk(structure, value.String())
	}
}

func (v veil) walk(value any, shown string) {
	switch value := value.(type) {
	case string:
		v.hide(value, shown)
	case []any:
		for _, item := range value {
			v.walk(item, shown)
		}
	case map[string]any:
		for _, member := range value {
			v.walk(member, shown)
		}
	case float64:
		raw, _ := json.Marshal(value) // a number that was read can be written
		v.hide(string(raw), shown)
	}
}

// secretive is the length below which a piece can be no secret, but stands everywhere.
const secretive = 3

// hide hides each line of a text, also as it stands in quotes and in quotes within quotes, and its base64.
func (v veil) hide(text, shown string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= secretive {
			v[line] = shown
			quoted := escaped(line)
			v[quoted], v[escaped(quoted)] = shown, shown
		}
	}
	if len(text) >= secretive {
		v[base64.StdEncoding.EncodeToString([]byte(text))] = shown
	}
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
		edits[i].Line.Text = cover.text(edits[i].Line.Text)
		edits[i].Line.Path = cover.text(edits[i].Line.Path)
	}
	return edits
}

// cover is a veil that is ready to be laid over texts: the longest pieces go first, as others may be parts of them.
type cover struct {
	veil   veil
	pieces []string
}

func (v veil) cover() cover {
	return cover{v, slices.SortedFunc(maps.Keys(v), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})}
}

func (c cover) text(text string) string {
	for _, piece := range c.pieces {
		text = replaceWord(text, piece, c.veil[piece])
	}
	return text
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
