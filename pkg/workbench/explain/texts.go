// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// inTexts returns the lines of a YAML field in a text of the object, such as the kubelet's configuration: the line of
// each key of its path, and the lines below the last one.
func inTexts(all []render.Line, path string) []Line {
	keys := strings.Split(path, ".")
	var found []Line
	for first := 0; first < len(all); {
		last := first + 1
		for last < len(all) && all[last].Path == all[first].Path {
			last++
		}
		found = append(found, inText(all[first:last], keys)...)
		first = last
	}
	return found
}

// inText finds the keys one below the other; nothing where one is missing.
func inText(text []render.Line, keys []string) []Line {
	var found []Line
	for n, key := range keys {
		at := child(text, key)
		if at < 0 {
			return nil
		}
		found = append(found, line(text[at]))
		text = text[at+1 : at+1+deeper(text[at+1:], indent(text[at].Text))]
		if n == len(keys)-1 {
			for _, l := range text {
				found = append(found, line(l))
			}
		}
	}
	return found
}

// child returns the index of a key's line among the least indented ones, or -1.
func child(text []render.Line, key string) int {
	least := -1
	for _, l := range text {
		if i := indent(l.Text); strings.TrimSpace(l.Text) != "" && (least < 0 || i < least) {
			least = i
		}
	}
	for i, l := range text {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(l.Text, " "), key+":"); ok && indent(l.Text) == least && (rest == "" || rest[0] == ' ') {
			return i
		}
	}
	return -1
}

// deeper returns the number of leading lines with a deeper indentation.
func deeper(text []render.Line, than int) int {
	n := 0
	for n < len(text) && indent(text[n].Text) > than {
		n++
	}
	return n
}

func indent(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }
