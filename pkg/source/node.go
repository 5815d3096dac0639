// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package source locates the parts of hand-written documents, and decodes such documents strictly.
//
// It turns YAML into Nodes with file, line and column, decodes Nodes into Go structs with an error for every field that
// is unknown, duplicate or of the wrong type, and collects all such errors as Findings. It does not know profiles:
// pkg/profile defines the documents. Start reading at Parse and Decode.
package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// File is the content of a file with its name in errors.
type File struct {
	Name string
	Data []byte
	// Attachments are the files that documents in this file use, by their paths in the documents.
	Attachments map[string][]byte
	// Problem is the reason why the file could not be read. The file then has no Data, and Parse reports the problem.
	Problem string
	// Refused maps unreadable files that documents use to the reason; missing files are in neither map.
	Refused map[string]string
}

// Node is a value in a YAML document with its file. The zero Node is a missing value.
type Node struct {
	*yaml.Node
	File string
}

// Position returns the position of the value's first character.
func (n Node) Position() Position {
	if n.Node == nil {
		return Position{File: n.File}
	}
	return Position{File: n.File, Line: n.Line, Column: n.Column}
}

// Finding returns a finding at the node; Of sets its rule.
func (n Node) Finding(path, format string, arguments ...any) Finding {
	return Finding{Position: n.Position(), Path: path, Message: fmt.Sprintf(format, arguments...)}
}

// Absent reports whether the node is missing or null.
func (n Node) Absent() bool {
	return n.Node == nil || (n.Kind == yaml.ScalarNode && n.Tag == "!!null")
}

// Field is one entry of a mapping: its key and its value.
type Field struct {
	Key, Value Node
}

// Fields returns the entries of a mapping in their order, or nil for another node.
func (n Node) Fields() []Field {
	if n.Node == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	fields := make([]Field, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		fields = append(fields, Field{Node{n.Content[i], n.File}, Node{n.Content[i+1], n.File}})
	}
	return fields
}

// Get returns the value of a key of a mapping, or the zero Node.
func (n Node) Get(key string) Node {
	for _, field := range n.Fields() {
		if field.Key.Value == key {
			return field.Value
		}
	}
	return Node{File: n.File}
}

// Has reports whether the node is a mapping with a key.
func (n Node) Has(key string) bool {
	return slices.ContainsFunc(n.Fields(), func(f Field) bool { return f.Key.Value == key })
}

// Naming returns the scalar with this text that names a value below the node: the value itself, or the nearest key
// above it. It returns the zero Node if there is none.
func (n Node) Naming(value Node, text string) Node {
	found, _ := n.naming(value, text)
	return found
}

// naming also reports whether the value is at or below the node.
func (n Node) naming(value Node, text string) (Node, bool) {
	if n.Node == nil || value.Node == nil {
		return Node{}, false
	}
	if n.Line == value.Line && n.Column == value.Column && n.Kind == value.Kind {
		if n.Kind == yaml.ScalarNode && n.Value == text {
			return n, true
		}
		return Node{}, true
	}
	for _, item := range n.Items() {
		if found, ok := item.naming(value, text); ok {
			return found, true
		}
	}
	for _, field := range n.Fields() {
		found, ok := field.Value.naming(value, text)
		if ok && found.Node == nil && field.Key.Value == text {
			found = field.Key
		}
		if ok {
			return found, true
		}
	}
	return Node{}, false
}

// Items returns the entries of a sequence, or nil for another node.
func (n Node) Items() []Node {
	if n.Node == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	items := make([]Node, len(n.Content))
	for i, item := range n.Content {
		items[i] = Node{item, n.File}
	}
	return items
}

// maximumFileSize limits the size of a parsed file in bytes: a ConfigMap contains at most 1 MiB.
const maximumFileSize = 4 << 20

// Parse splits a file into its YAML documents. It rejects anchors and aliases, because they hide the value of a field.
// A duplicate key is a finding and occurs once in the Nodes; empty documents are omitted.
func Parse(file File) ([]Node, Findings) {
	if file.Problem != "" {
		return nil, Findings{{Position: Position{File: file.Name}, Message: file.Problem, Rule: MissingFile}}
	}
	if len(file.Data) > maximumFileSize {
		return nil, Findings{{Position: Position{File: file.Name}, Message: fmt.Sprintf("larger than %d bytes", maximumFileSize), Rule: NotYAML}}
	}
	var (
		nodes    []Node
		findings Findings
	)
	decoder := yaml.NewDecoder(bytes.NewReader(file.Data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return nodes, findings
		}
		if err != nil {
			return nodes, append(findings, syntaxFinding(file, err))
		}
		if len(document.Content) != 1 {
			continue
		}
		node := Node{document.Content[0], file.Name}
		if node.Absent() {
			continue
		}
		if wrong := checkTree(node, ""); len(wrong) > 0 {
			findings = append(findings, wrong...)
			mergeDuplicateKeys(node.Node)
		}
		nodes = append(nodes, node)
	}
}

// checkTree reports duplicate keys, keys that are not strings, and anchors. It treats timestamps of YAML 1.1 as text.
func checkTree(n Node, path string) Findings {
	var findings Findings
	if n.Tag == "!!timestamp" {
		n.Tag = "!!str"
	}
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return Findings{n.Finding(path, "anchors and aliases are not allowed").Of(Anchor)}
	}
	first := map[string]Node{}
	for _, field := range n.Fields() {
		inner := join(path, field.Key.Value)
		if !isPlain(field.Key.Node) {
			rule := WrongType
			if field.Key.Tag == "!!merge" {
				rule = Anchor
			}
			findings = append(findings, field.Key.Finding(path, "a key must be a plain string").Of(rule))
			continue
		}
		field.Key.Tag = "!!str" // a key is always a string
		if earlier, ok := first[field.Key.Value]; ok {
			findings = append(findings, field.Key.Finding(inner, "duplicate key, first written in line %d", earlier.Line).Of(DuplicateKey).InPart())
		}
		first[field.Key.Value] = field.Key
		findings = append(findings, checkVisible(field, inner)...)
		findings = append(findings, checkTree(field.Value, inner)...)
	}
	for i, item := range n.Items() {
		findings = append(findings, checkTree(item, path+"["+strconv.Itoa(i)+"]")...)
	}
	return findings
}

// checkVisible finds control characters and bidirectional marks in a key, and in the value of a field "name": a log or a terminal would show
// another name than the effective one.
func checkVisible(field Field, path string) Findings {
	var findings Findings
	check := func(n Node) {
		at := strings.IndexFunc(n.Value, func(r rune) bool {
			return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
		})
		if at >= 0 {
			findings = append(findings, n.Finding(strings.Trim(strconv.Quote(path), `"`), "the name %s has a control character or a bidirectional mark: remove it",
				strconv.Quote(n.Value)).Of(InvalidName))
		}
	}
	check(field.Key)
	if field.Key.Value == "name" && !field.Value.Absent() && field.Value.Kind == yaml.ScalarNode {
		check(field.Value)
	}
	return findings
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// bareExpression matches an expression with braces, a colon or quotes that YAML interprets.
var bareExpression = regexp.MustCompile(`([{\[].*[:,{\[]\s*\$\{|[:-]\s+\$\{.*: |"[^"]*\$\{[^"}]*")`)

func syntaxFinding(file File, err error) Finding {
	finding := Finding{Position: Position{File: file.Name}, Message: err.Error(), Rule: NotYAML}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		finding.Line, _ = strconv.Atoi(m[1])
		finding.Message = "not YAML: " + m[2]
	}
	// The parser names the line before the one that it could not read, or that line.
	lines := bytes.Split(file.Data, []byte("\n"))
	first := min(max(finding.Line-1, 0), len(lines))
	suspects := lines[first:min(first+2, len(lines))]
	mark := func(of *regexp.Regexp, sign string) bool {
		i := slices.IndexFunc(suspects, of.Match)
		if i < 0 {
			return false
		}
		begin := of.FindSubmatchIndex(suspects[i])[2] // of the part around the sign
		finding.Line, finding.Column = first+i+1, utf8.RuneCount(suspects[i][:begin+bytes.Index(suspects[i][begin:], []byte(sign))])+1
		return true
	}
	switch {
	case tabbed.MatchString(finding.Message) && mark(tab, "\t"):
		finding.Message = "not YAML: a line is indented with a tab; use spaces only"
	case mark(bareExpression, "${"):
		finding.Message += "; put a text with ${ } in single quotes inside braces and brackets, and if it has a colon or double quotes"
	}
	return finding
}

var (
	// tabbed matches the parser's messages about tabs and other characters.
	tabbed = regexp.MustCompile(`tab character|cannot start any token`)
	// tab is one in the indentation of a line.
	tab = regexp.MustCompile(`^ *(\t)`)
)

// Text is a string with its position, for strings that may contain expressions. The zero Text is absent.
type Text struct {
	Value string
	At    Node
}

// JSONSchema returns the schema of the string for editors.
func (Text) JSONSchema() string { return `{"type": "string"}` }
