// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// flowWidth is how long an item of a list may be to be written in one line.
const flowWidth = 88

// plain are texts that YAML reads as text without quotes; ambiguous are those among them that it reads as something else.
var (
	plain     = regexp.MustCompile(`^[A-Za-z0-9_./$(][A-Za-z0-9_./$()@%+=,;~^<> -]*(:[A-Za-z0-9_./$()@%+=,;~^<>-]+)*$`)
	ambiguous = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|null|~|[-+.0-9][-+.0-9_exabcdfo]*|[-+]?\.(inf|nan))$`)
)

// modes are members that hold the permissions of files.
var modes = []string{"permissions", "defaultMode", "mode"}

// scalar writes the value of a member that is neither an object nor a list; permissions as octal digits.
func scalar(key string, n *document.Node) string {
	if text, ok := n.Text(); ok {
		return scalarText(text)
	}
	if mode, err := strconv.ParseUint(string(n.Raw()), 10, 12); err == nil && slices.Contains(modes, key) {
		return fmt.Sprintf("0%03o", mode)
	}
	return string(n.Raw())
}

// scalarText writes a text, in quotes where it could be taken for something else.
func scalarText(text string) string {
	if plain.MatchString(text) && !ambiguous.MatchString(text) && !strings.HasSuffix(text, " ") {
		return text
	}
	return string(document.Quote(text))
}

// isText reports whether a string is more readable as lines of text.
func isText(text string) bool {
	return strings.Contains(strings.TrimRight(text, "\n"), "\n") && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' })
}

// flow writes an item in one line, if it is short enough for that and holds neither a text of several lines nor a command line.
func (p *projection) flow(at place, n *document.Node) (string, bool) {
	if !p.flat(at, n) {
		return "", false
	}
	text := inline("", n)
	return text, n.Kind() != document.Object && n.Kind() != document.Array || len(text) <= flowWidth
}

// flat reports whether the value needs no separate lines.
func (p *projection) flat(at place, n *document.Node) bool {
	if _, ok := textInside(p.inside, at.shape, n); ok {
		return false
	}
	switch n.Kind() {
	case document.Object:
		for key, member := range n.Members() {
			if _, ok := commandLine(key, member); ok || !p.flat(at.member(key), member) {
				return false
			}
		}
	case document.Array:
		for _, item := range n.Items() {
			if !p.flat(at.item(""), item) {
				return false
			}
		}
	case document.String:
		text, _ := n.Text()
		return !isText(text)
	}
	return true
}

// inline returns the value of a member in YAML's flow style; an object starts with its key.
func inline(key string, n *document.Node) string {
	switch n.Kind() {
	case document.Object:
		members := maps.Collect(n.Members())
		keys := slices.Sorted(maps.Keys(members))
		if key, _ := identify(n); key != "" {
			keys = append([]string{key}, slices.DeleteFunc(keys, func(k string) bool { return k == key })...)
		}
		parts := make([]string, 0, len(keys))
		for _, key := range keys {
			parts = append(parts, inlineText(key)+": "+inline(key, members[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case document.Array:
		var parts []string
		for _, item := range n.Items() {
			parts = append(parts, inline("", item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		if text, ok := n.Text(); ok {
			return inlineText(text)
		}
		return scalar(key, n)
	}
}

// inlineText works like scalarText inside of braces, where a comma ends a value.
func inlineText(text string) string {
	if strings.Contains(text, ",") {
		return string(document.Quote(text))
	}
	return scalarText(text)
}

// commandLine reads a list of strings under the name of a command line.
func commandLine(key string, n *document.Node) ([]string, bool) {
	if key != "command" && key != "args" || n.Kind() != document.Array {
		return nil, false
	}
	tokens := make([]string, 0, n.Len())
	for _, item := range n.Items() {
		token, ok := item.Text()
		if !ok {
			return nil, false
		}
		tokens = append(tokens, token)
	}
	return tokens, true
}

// flags writes a command line with one line per flag; a value in a separate token follows its flag.
func (p *projection) flags(at place, tokens []string) {
	for i := 0; i < len(tokens); i++ {
		token := tokens[i]
		name, _, given := strings.Cut(token, "=")
		if !strings.HasPrefix(token, "-") {
			name = ""
		}
		takes := name != "" && !given && i+1 < len(tokens) && tokens[i+1] != "" && !strings.HasPrefix(tokens[i+1], "-")
		inner := at.item(name)
		switch {
		case takes && isText(tokens[i+1]):
			p.text(inner, inner.deeper(), tokenText(token), tokens[i+1])
			i++
		case takes:
			p.add(inner, tokenText(token)+" "+tokenText(tokens[i+1]))
			i++
		case isText(token):
			p.text(inner, inner.deeper(), "", token)
		default:
			p.add(inner, tokenText(token))
		}
	}
}

// tokenText writes an element of a command line as it is, in quotes where that could not be seen.
func tokenText(token string) string {
	if token == "" || strings.TrimSpace(token) != token || strings.ContainsFunc(token, unicode.IsControl) {
		return string(document.Quote(token))
	}
	return token
}
