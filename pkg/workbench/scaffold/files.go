// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/docs/schema"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Files are the files of a new profile, by their paths with slashes.
type Files map[string][]byte

// The files that every new profile has.
const (
	ProfileFile = "profile.yaml"
	ReadmeFile  = "README.md"
	TestsFile   = "tests/shoots.yaml"
	// SchemaFolder has the schemas that the first lines of profile and tests name.
	SchemaFolder = ".schema"
)

// ErrExists means that the folder for a new profile has files already.
var ErrExists = errors.New("is not empty")

// Check compiles the profile among the files. The error is source.Findings.
func (f Files) Check() (*mutation.Program, error) {
	file := profile.Attach(source.File{Name: ProfileFile, Data: f[ProfileFile]}, func(path string) ([]byte, error) {
		data, ok := f[path]
		if !ok {
			return nil, os.ErrNotExist
		}
		return data, nil
	})
	documents, findings := profile.Load(file)
	if err := findings.Err(); err != nil {
		return nil, err
	}
	return compiler.Compile(documents, compiler.Options{})
}

// schemas adds the schemas that the first lines of the documents name.
func (f Files) schemas() {
	for _, kind := range schema.Kinds() {
		if kind.Name == "ProviderProfile" || kind.Name == "ProviderProfileTest" {
			f[SchemaFolder+"/"+kind.File] = kind.Schema
		}
	}
}

// Names returns the paths, sorted.
func (f Files) Names() []string { return slices.Sorted(maps.Keys(f)) }

// Write writes the files to a folder. It first writes them to a temporary sibling and then moves them, so that nothing
// is partly written if the context ends. A non-empty folder is an error, which wraps ErrExists, unless force permits to
// replace files with the same names; other files stay.
func (f Files) Write(ctx context.Context, folder string, force bool) (err error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("looking into the folder: %w", err)
	}
	if len(entries) > 0 && !force {
		return fmt.Errorf("%s %w", folder, ErrExists)
	}
	parent := filepath.Dir(filepath.Clean(folder))
	if err := makeFolder(parent); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	beside, err := os.MkdirTemp(parent, ".graft-init-")
	if err != nil {
		return fmt.Errorf("making a folder to write into: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(beside)) }()
	if err := f.writeInto(ctx, beside); err != nil {
		return err
	}
	return f.move(beside, folder, len(entries) > 0)
}

func (f Files) writeInto(ctx context.Context, folder string) error {
	for _, name := range f.Names() {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return fmt.Errorf("making a folder: %w", err)
		}
		if err := os.WriteFile(path, f[name], 0o644); err != nil { //nolint:gosec // what others read, too
			return fmt.Errorf("writing a file: %w", err)
		}
	}
	return nil
}

// move puts the folder in its place, or the files one by one into a folder that has some.
func (f Files) move(from, to string, occupied bool) error {
	if !occupied {
		if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("replacing the empty folder: %w", err)
		}
		if err := os.Chmod(from, 0o755); err != nil { //nolint:gosec // what others read, too
			return fmt.Errorf("opening the folder: %w", err)
		}
		if err := os.Rename(from, to); err != nil {
			return fmt.Errorf("moving the folder to its place: %w", err)
		}
		return nil
	}
	for _, name := range f.Names() {
		path := filepath.Join(to, filepath.FromSlash(name))
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return fmt.Errorf("making a folder: %w", err)
		}
		if err := os.Rename(filepath.Join(from, filepath.FromSlash(name)), path); err != nil {
			return fmt.Errorf("moving a file to its place: %w", err)
		}
	}
	return nil
}

// makeFolder makes a folder with those above it.
func makeFolder(path string) error {
	return os.MkdirAll(path, 0o755) //nolint:gosec // what others read, too
}

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
