// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ErrSource means that a new profile cannot be made of the one that was named.
var ErrSource = errors.New("no profile to begin from")

// Left is a line of the new files that still contains the old provider.
type Left struct {
	File string
	Line int
	Text string
}

// From creates the files of a profile from an existing one: with another name and provider, its comments, and its
// files. The returned lines still contain the old provider; only the author knows whether they must change. read reads
// a file by its path with slashes.
func From(read func(path string) ([]byte, error), file, name, provider string) (Files, []Left, error) {
	data, err := read(file)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the profile to begin from: %w", err)
	}
	attached := profile.Attach(source.File{Name: file, Data: data}, func(beside string) ([]byte, error) {
		return read(path.Join(path.Dir(file), beside))
	})
	documents, findings := profile.Load(attached)
	if err := findings.Err(); err != nil {
		return nil, nil, err
	}
	if len(documents) != 1 {
		return nil, nil, fmt.Errorf("%w: %s has %d profiles, and must have one", ErrSource, file, len(documents))
	}
	before := documents[0]
	renamed, err := rename(data, before, name, provider)
	if err != nil {
		return nil, nil, err
	}
	files := Files{ProfileFile: withSchema(renamed)}
	for beside, content := range attached.Attachments {
		files[beside] = content
	}
	program, err := files.Check()
	if err != nil {
		return nil, nil, err
	}
	left := files.naming(before.Providers)
	err = files.document(page{
		Answers: Answers{Name: name, Provider: provider}, Origin: "from the profile " + before.Metadata.Name, Left: left,
		Expected: expected(before), Present: present(program),
	})
	return files, left, err
}

// rename puts name and provider into the text, where they stand.
func rename(data []byte, d *profile.Document, name, provider string) ([]byte, error) {
	nameNode := child(d.Node.Node, "metadata", "name")
	providers := child(d.Node.Node, "providers")
	if nameNode == nil || providers == nil || len(providers.Content) == 0 {
		return nil, fmt.Errorf("%w: its name or its providers cannot be found in the text", ErrSource)
	}
	first, last := providers.Content[0], providers.Content[len(providers.Content)-1]
	edits := []edit{{nameNode, nameNode, name}, {first, last, provider}}
	slices.SortFunc(edits, func(a, b edit) int { return b.from.Line*1e4 + b.from.Column - a.from.Line*1e4 - a.from.Column })
	lines := bytes.SplitAfter(data, []byte("\n"))
	for _, e := range edits {
		var err error
		if lines, err = e.apply(lines); err != nil {
			return nil, err
		}
	}
	return bytes.Join(lines, nil), nil
}

// edit replaces the text between two scalars.
type edit struct {
	from, to *yaml.Node
	text     string
}

func (e edit) apply(lines [][]byte) ([][]byte, error) {
	end, err := endOf(lines, e.to)
	if err != nil {
		return nil, err
	}
	first, last := e.from.Line-1, e.to.Line-1
	line := slices.Concat(lines[first][:e.from.Column-1], []byte(e.text), lines[last][end:])
	return slices.Concat(lines[:first], [][]byte{line}, lines[last+1:]), nil
}

// endOf returns the column after a plain or quoted scalar in one line.
func endOf(lines [][]byte, n *yaml.Node) (int, error) {
	text, begin := lines[n.Line-1], n.Column-1
	for _, form := range []string{n.Value, `"` + n.Value + `"`, "'" + n.Value + "'"} {
		if bytes.HasPrefix(text[begin:], []byte(form)) {
			return begin + len(form), nil
		}
	}
	return 0, fmt.Errorf("%w: line %d writes a name in a form that cannot be replaced", ErrSource, n.Line)
}

// child returns the value at a path of keys, or nil.
func child(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		var found *yaml.Node
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				found = n.Content[i+1]
			}
		}
		n = found
	}
	return n
}

var schemaLine = regexp.MustCompile(`(?m)^# yaml-language-server: .*\n`)

// withSchema puts the line for editors where the document has one, or else in front of it, behind the comment of the licence.
func withSchema(data []byte) []byte {
	line := []byte(schemaComment("providerprofile.json", ""))
	if at := schemaLine.FindIndex(data); at != nil {
		return slices.Concat(data[:at[0]], line, data[at[1]:])
	}
	at := bytes.Index(data, []byte("\n\n"))
	if at < 0 || !bytes.HasPrefix(data, []byte("#")) {
		return append(line, data...)
	}
	return slices.Concat(data[:at+2], line, data[at+2:])
}

// schemaComment returns the line that names a schema for editors; up is the path from the document to the folder of the
// profile.
func schemaComment(file, up string) string {
	return "# yaml-language-server: $schema=" + up + SchemaFolder + "/" + file + "\n"
}

// naming returns the lines of texts that contain one of the providers.
func (f Files) naming(providers []string) []Left {
	var left []Left
	for _, name := range f.Names() {
		number := 0
		for line := range strings.Lines(string(f[name])) {
			number++
			if slices.ContainsFunc(providers, func(p string) bool { return strings.Contains(line, p) }) {
				left = append(left, Left{File: name, Line: number, Text: strings.TrimSpace(line)})
			}
		}
	}
	return left
}
