// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package render displays an object with the effects of rules. Text converts an object to lines: similar to YAML, with
// one line per flag of a command line, and with texts inside fields as lines. Blame follows these lines through the
// states of an object and knows the rule that wrote or removed each line. Change combines both for an object that the
// engine admits, and Style writes changes for a terminal or a file.
//
// It makes no decisions about objects and reads no files, clusters or terminals: the caller defines the width and the
// colours of the output. Start reading at NewChange and Style.Write.
package render

import (
	"cmp"
	"encoding/base64"
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

// Line is one line of an object's text. Lines are equal when they say the same thing at the same place.
type Line struct {
	// Depth counts the steps of indentation.
	Depth int
	// Path is the place of the value, such as spec.template.spec.containers[kube-scheduler].command[--config]. Items of
	// lists are named by their keys, never by their index.
	Path string
	Text string
	// Head reports that the value is in the next lines, and Literal that the line belongs to a text of several.
	Head, Literal bool
}

// Text converts an object to lines. Members are sorted, so that their original order is irrelevant; the status and
// fields managed by kube-apiserver are omitted. It fails if the object is not valid JSON.
func Text(object []byte) ([]Line, error) { return project(object, false) }

// project converts an object to lines; if whole is set, with the status and fields managed by kube-apiserver.
func project(object []byte, whole bool) ([]Line, error) {
	parsed, err := document.Parse(object)
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	p := projection{whole: whole}
	p.members(rootCursor(parsed.Root()), parsed.Root(), "")
	if err := parsed.Err(); err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	return p.lines, nil
}

// serverSide are the fields that only the API server and controllers write.
var serverSide = map[string]bool{
	"status": true, "metadata.managedFields": true, "metadata.uid": true, "metadata.resourceVersion": true,
	"metadata.generation": true, "metadata.creationTimestamp": true, "metadata.selfLink": true,
}

// cursor is the current position of the projection: the path with names of items, the shape with the kind of the object and
// with [] for items, and the depth.
type cursor struct {
	path, shape string
	depth       int
}

// rootCursor returns the cursor at an object.
func rootCursor(object *document.Node) cursor {
	kind, _ := object.Get("kind").Text()
	return cursor{shape: kind}
}

func (p cursor) member(key string) cursor {
	path := key
	if p.path != "" {
		path = p.path + "." + key
	}
	return cursor{path, p.shape + "." + key, p.depth}
}

func (p cursor) item(name string) cursor {
	return cursor{p.path + "[" + name + "]", p.shape + "[]", p.depth}
}

func (p cursor) deeper() cursor { return cursor{p.path, p.shape, p.depth + 1} }

type projection struct {
	lines []Line
	// whole reports that nothing is left out.
	whole bool
}

func (p *projection) add(at cursor, text string) {
	p.lines = append(p.lines, Line{Depth: at.depth, Path: at.path, Text: text})
}

// head writes the first line of a value in several lines.
func (p *projection) head(at cursor, text string) {
	p.lines = append(p.lines, Line{Depth: at.depth, Path: at.path, Text: text, Head: true})
}

// members writes the members of an object, except the one that was already written.
func (p *projection) members(at cursor, n *document.Node, written string) {
	members := maps.Collect(n.Members())
	var first []string
	if at.path == "" {
		first = rootKeys
	}
	for _, key := range sortedKeys(members, first...) {
		if key != written && (p.whole || !serverSide[at.member(key).path]) {
			p.value(at.member(key), "", scalarText(key)+":", key, members[key])
		}
	}
}

// rootKeys are the first members of an object.
var rootKeys = []string{"apiVersion", "kind", "metadata"}

// sortedKeys returns the keys of members: the given ones first, the rest sorted.
func sortedKeys(members map[string]*document.Node, first ...string) []string {
	rank := func(key string) int {
		if i := slices.Index(first, key); i >= 0 {
			return i
		}
		return len(first)
	}
	return slices.SortedFunc(maps.Keys(members), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
	})
}

// value writes one member. dash is "- " for the first member of an item; its children are then indented further.
func (p *projection) value(at cursor, dash, head, key string, n *document.Node) {
	inner := at.deeper()
	if dash != "" {
		inner = inner.deeper()
	}
	if text, ok := textInside(at, n); ok {
		p.text(at, inner, dash+head, text)
		return
	}
	switch n.Kind() {
	case document.Object:
		if n.Len() == 0 {
			p.add(at, dash+head+" {}")
			return
		}
		p.head(at, dash+head)
		p.members(inner, n, "")
	case document.Array:
		if n.Len() == 0 {
			p.add(at, dash+head+" []")
			return
		}
		p.head(at, dash+head)
		if tokens, ok := commandLine(key, n); ok {
			p.flags(inner, tokens)
			return
		}
		p.items(inner, n)
	default:
		if text, ok := n.Text(); ok && isText(text) {
			p.text(at, inner, dash+head, text)
			return
		}
		p.add(at, dash+head+" "+scalar(key, n))
	}
}

// text writes a text of several lines below its head.
func (p *projection) text(at, inner cursor, head, text string) {
	p.head(at, head+" |")
	for line := range strings.Lines(text) {
		p.lines = append(p.lines, Line{Depth: inner.depth, Path: inner.path, Text: strings.TrimRight(line, "\r\n"), Literal: true})
	}
}

func (p *projection) items(at cursor, n *document.Node) {
	for _, item := range n.Items() {
		key, name := identify(item)
		inner := at.item(name)
		switch line, ok := flow(inner, item); {
		case ok:
			p.add(inner, "- "+line)
		case item.Kind() == document.Array:
			p.head(inner, "-")
			p.items(inner.deeper(), item)
		case item.Kind() == document.Object:
			p.object(inner, key, item)
		default:
			text, _ := item.Text()
			p.text(inner, inner.deeper(), "-", text)
		}
	}
}

// object writes an item that is an object, beginning with the member that identifies it.
func (p *projection) object(at cursor, key string, n *document.Node) {
	if key == "" {
		key = slices.Min(slices.Collect(maps.Keys(maps.Collect(n.Members()))))
	}
	before := len(p.lines)
	p.value(at.member(key), "- ", scalarText(key)+":", key, n.Get(key))
	p.lines[before].Path = at.path
	p.members(at.deeper(), n, key)
}

// identifying are the members that name an item in the lists of Kubernetes and Gardener.
var identifying = []string{"name", "containerName", "key", "path"}

// identify finds the member that names an item, and the name; both are empty where there is none.
func identify(item *document.Node) (key, name string) {
	if item.Kind() != document.Object {
		return "", ""
	}
	for _, key := range identifying {
		if name, ok := item.Get(key).Text(); ok && name != "" {
			return key, name
		}
	}
	return "", ""
}

// fileContent is the place of a file's content in Gardener's pkg/apis/extensions/v1alpha1/types_operatingsystemconfig.go.
const fileContent = "OperatingSystemConfig.spec.files[].content.inline"

// textInside returns the text of several lines that a field contains in another form than a string: the content of a
// file, which is plain or in base64. It returns false for fields that are shown unchanged.
func textInside(at cursor, n *document.Node) (string, bool) {
	if at.shape != fileContent {
		return "", false
	}
	data, ok := n.Get("data").Text()
	if !ok {
		return "", false
	}
	if encoding, _ := n.Get("encoding").Text(); encoding == "b64" {
		decoded, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return "", false
		}
		data = string(decoded)
	}
	return data, isText(data)
}

// flowWidth limits an item of a list that is written in one line, in characters.
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
func flow(at cursor, n *document.Node) (string, bool) {
	if !flat(at, n) {
		return "", false
	}
	text := inline("", n)
	return text, n.Kind() != document.Object && n.Kind() != document.Array || len(text) <= flowWidth
}

// flat reports whether the value needs no separate lines.
func flat(at cursor, n *document.Node) bool {
	if _, ok := textInside(at, n); ok {
		return false
	}
	switch n.Kind() {
	case document.Object:
		for key, member := range n.Members() {
			if _, ok := commandLine(key, member); ok || !flat(at.member(key), member) {
				return false
			}
		}
	case document.Array:
		for _, item := range n.Items() {
			if !flat(at.item(""), item) {
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
		first, _ := identify(n)
		parts := make([]string, 0, len(members))
		for _, key := range sortedKeys(members, first) {
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
func (p *projection) flags(at cursor, tokens []string) {
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

// tokenText writes an element of a command line, in quotes if it would be ambiguous without.
func tokenText(token string) string {
	if token == "" || strings.TrimSpace(token) != token || strings.ContainsFunc(token, unicode.IsControl) {
		return string(document.Quote(token))
	}
	return token
}
