// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package manifest reads objects from files: YAML with several documents, JSON, Lists of objects, folders of such
// files, and standard input. An object is kept as JSON with its position; JSON input stays byte for byte.
//
// It does not interpret the objects. Start reading at Read and Parse.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Object is one object of a manifest.
type Object struct {
	APIVersion, Kind, Namespace, Name string
	// JSON is the whole object.
	JSON []byte
	// Position is where it begins.
	Position source.Position
}

// Group returns the group of the object's apiVersion; empty for the core group.
func (o Object) Group() string {
	group, _, found := strings.Cut(o.APIVersion, "/")
	if !found {
		return ""
	}
	return group
}

// Version returns the version of the object's apiVersion.
func (o Object) Version() string { return o.APIVersion[strings.IndexByte(o.APIVersion, '/')+1:] }

// Is reports whether the object has a group and kind, in any version.
func (o Object) Is(group, kind string) bool { return o.Kind == kind && o.Group() == group }

// String returns the object's kind and name: Deployment kube-apiserver.
func (o Object) String() string { return o.Kind + " " + o.Name }

// New returns the object with this JSON. The error names the missing field.
func New(raw []byte, at source.Position) (Object, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return Object{}, fmt.Errorf("not an object of Kubernetes: %w", source.JSONError(err))
	}
	for _, field := range []struct{ name, value string }{
		{"apiVersion", head.APIVersion}, {"kind", head.Kind}, {"metadata.name", head.Metadata.Name},
	} {
		if field.value == "" {
			return Object{}, fmt.Errorf("not an object of Kubernetes: %s is missing", field.name)
		}
	}
	return Object{
		APIVersion: head.APIVersion, Kind: head.Kind, Namespace: head.Metadata.Namespace, Name: head.Metadata.Name, JSON: raw, Position: at,
	}, nil
}

// Parse reads all objects of a file, and the items of Lists. It returns a finding for each document that is not an
// object.
func Parse(file source.File) ([]Object, source.Findings) {
	var (
		objects  []Object
		findings source.Findings
	)
	for _, document := range split(file) {
		found, finding := document.objects()
		objects = append(objects, found...)
		if finding != nil {
			findings = append(findings, *finding)
		}
	}
	return objects, findings
}

// rawDocument is one document of a file.
type rawDocument struct {
	data []byte
	at   source.Position
	// first is the line at which data starts, and inset the number of characters before it in that line.
	first, inset int
	json         bool
}

// split finds the documents of a file: in YAML between lines that begin with ---, in JSON one after the other.
func split(file source.File) []rawDocument {
	if trimmed := bytes.TrimSpace(file.Data); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		if documents, ok := splitJSON(file); ok {
			return documents
		}
	}
	var documents []rawDocument
	begin, first, inset := 0, 1, 0
	add := func(end int) {
		if data := file.Data[begin:end]; hasContent(data) {
			blank := blankLines(data)
			documents = append(documents, rawDocument{data: data, at: source.Position{File: file.Name, Line: first + blank, Column: 1}, first: first, inset: inset})
		}
	}
	line := 1
	for at := 0; at < len(file.Data); line++ {
		end := len(file.Data)
		if n := bytes.IndexByte(file.Data[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		if separates(file.Data[at:end]) {
			add(at)
			// Text after the separator in its line belongs to the next document.
			begin, first, inset = at+len("---"), line, len("---")
		}
		at = end
	}
	add(len(file.Data))
	return documents
}

func separates(line []byte) bool {
	return bytes.HasPrefix(line, []byte("---")) && (len(line) == 3 || line[3] == '\n' || line[3] == '\r' || line[3] == ' ' || line[3] == '\t')
}

// hasContent reports whether there is content other than comments and spaces.
func hasContent(data []byte) bool { return blankLines(data) >= 0 }

// blankLines counts the lines before the first one with content; -1 if there is none.
func blankLines(data []byte) int {
	count := 0
	for line := range bytes.Lines(data) {
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] != '#' {
			return count
		}
		count++
	}
	return -1
}

// splitJSON finds the values of a JSON stream; false when it is none, as in YAML that begins with a brace.
func splitJSON(file source.File) ([]rawDocument, bool) {
	var documents []rawDocument
	decoder := json.NewDecoder(bytes.NewReader(file.Data))
	for {
		before := decoder.InputOffset()
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return documents, errors.Is(err, io.EOF)
		}
		skipped := len(file.Data[before:]) - len(bytes.TrimLeft(file.Data[before:], " \t\r\n"))
		at := positionOf(file, int(before)+skipped)
		documents = append(documents, rawDocument{data: raw, at: at, first: at.Line, inset: at.Column - 1, json: true})
	}
}

func positionOf(file source.File, offset int) source.Position {
	before := file.Data[:offset]
	return source.Position{
		File: file.Name, Line: bytes.Count(before, []byte("\n")) + 1, Column: offset - bytes.LastIndexByte(before, '\n'),
	}
}

// objects returns the object of a document, or those of its list.
func (t rawDocument) objects() ([]Object, *source.Finding) {
	raw := t.data
	var finding *source.Finding
	if t.json {
		finding = t.duplicateMember()
	} else {
		raw, finding = t.decode()
	}
	if finding != nil {
		return nil, finding
	}
	if string(raw) == "null" {
		return nil, nil
	}
	objects, err := flatten(raw, t.at)
	if err != nil {
		return objects, &source.Finding{Position: t.at, Message: err.Error()}
	}
	return objects, nil
}

var yamlLine = regexp.MustCompile(`(?s)^yaml: line (\d+): (.*)$`)

// syntax returns the message of the YAML parser with the line in the file.
func (t rawDocument) syntax(err error) *source.Finding {
	finding := &source.Finding{Position: t.at, Message: "not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	if match := yamlLine.FindStringSubmatch(err.Error()); match != nil {
		line, _ := strconv.Atoi(match[1])
		// At the end of the text the parser names a line behind it.
		line = min(line, bytes.Count(t.data, []byte("\n"))+1)
		finding.Line, finding.Column, finding.Message = t.first+line-1, 0, "not YAML: "+match[2]
		if column := tab(t.data, line); column > 0 {
			finding.Column, finding.Message = column, "not YAML: the indentation contains a tab; use spaces only"
		}
	}
	return finding
}

// tab returns the column of a tab in the indentation of a line, or 0.
func tab(data []byte, line int) int {
	lines := bytes.SplitN(data, []byte("\n"), line+1)
	indent := lines[line-1]
	indent = indent[:len(indent)-len(bytes.TrimLeft(indent, " \t"))]
	return bytes.IndexByte(indent, '\t') + 1
}

// flatten takes lists apart: a kind that ends in List with items, and arrays.
func flatten(raw []byte, at source.Position) ([]Object, error) {
	var items []json.RawMessage
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, fmt.Errorf("not a list of objects: %w", err)
		}
	} else {
		var list struct {
			Kind  string            `json:"kind"`
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(raw, &list); err != nil || !strings.HasSuffix(list.Kind, "List") || list.Items == nil {
			object, err := New(raw, at)
			if err != nil {
				return nil, err
			}
			return []Object{object}, nil
		}
		items = list.Items
	}
	var objects []Object
	for i, item := range items {
		found, err := flatten(bytes.TrimSpace(item), at)
		if err != nil {
			return objects, fmt.Errorf("item %d of the list: %w", i, err)
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// decode converts YAML without duplicate keys to JSON.
func (t rawDocument) decode() ([]byte, *source.Finding) {
	raw, err := yaml.YAMLToJSONStrict(t.data)
	if err == nil {
		return raw, nil
	}
	if finding := t.duplicate(); finding != nil {
		return nil, finding
	}
	lenient, failure := yaml.YAMLToJSON(t.data)
	switch {
	case failure != nil:
		return nil, t.syntax(failure)
	case !bytes.Contains(t.data, []byte("<<")): // the strict conversion refuses keys that override one of a merge, too
		return nil, &source.Finding{Position: t.at, Rule: source.DuplicateKey, Message: err.Error()}
	}
	return lenient, nil
}

// duplicate returns a finding about the first duplicate key of a mapping, or nil if there is none or the text is not
// YAML. Empty lines and spaces before the text give the positions of the file.
func (t rawDocument) duplicate() *source.Finding {
	padding := strings.Repeat("\n", t.first-1) + strings.Repeat(" ", t.inset)
	_, findings := source.Parse(source.File{Name: t.at.File, Data: append([]byte(padding), t.data...)})
	for _, finding := range findings {
		if finding.Rule == source.DuplicateKey {
			return &finding
		}
	}
	return nil
}

// duplicateMember finds the first key that is written twice in an object of a JSON document; nil if there is none.
func (t rawDocument) duplicateMember() *source.Finding {
	var value any
	// The syntax was checked when the documents were split; a document with an error has no strict errors.
	strict, _ := kjson.UnmarshalStrict(t.data, &value, kjson.DisallowDuplicateFields)
	if len(strict) == 0 {
		return nil
	}
	if finding := t.duplicate(); finding != nil { // almost every JSON document is YAML, too
		return finding
	}
	return &source.Finding{Position: t.at, Rule: source.DuplicateKey, Message: strict[0].Error()}
}

// Stdin is the path of standard input.
const Stdin = "-"

// maximumSize limits the size of one file in bytes: a dump of a large seed has about 100 MiB.
const maximumSize = 512 << 20

// ErrTwiceStdin means that standard input is named more than once.
var ErrTwiceStdin = errors.New("standard input (-) can be read only once")

// Read reads the objects of files and folders in the order of the paths; "-" is standard input. It reads folders
// recursively, their files that end in .yaml, .yml or .json, sorted. The error is source.Findings if something is not
// an object. Links in folders must stay inside and lead to regular files; named files may be of any type.
func Read(paths []string, stdin io.Reader) ([]Object, error) {
	var files []source.File
	for i, path := range paths {
		if path == Stdin && slices.Contains(paths[:i], Stdin) {
			return nil, ErrTwiceStdin
		}
		found, err := filesAt(path, stdin)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return parseAll(files)
}

// ReadWith reads the objects of a file or folder, as Read does, with a function that reads each file. It fails if a
// file is unreadable or not a manifest.
func ReadWith(path string, read func(path string) ([]byte, error)) ([]Object, error) {
	files, err := filesBelow(path, read)
	if err != nil {
		return nil, err
	}
	return parseAll(files)
}

func parseAll(files []source.File) (objects []Object, err error) {
	var findings source.Findings
	for _, file := range files {
		found, wrong := Parse(file)
		objects, findings = append(objects, found...), append(findings, wrong...)
	}
	return objects, findings.Err()
}

func filesAt(path string, stdin io.Reader) ([]source.File, error) {
	if path == Stdin {
		data, err := io.ReadAll(io.LimitReader(stdin, maximumSize))
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		return []source.File{{Name: "standard input", Data: data}}, nil
	}
	return filesBelow(path, func(name string) ([]byte, error) { return ReadAt(path, name, maximumSize) })
}

// ReadAt reads the file at a path, or the one with this name in the folder there. Below returns the names. Links in the folder must
// stay inside and lead to regular files. It fails for more bytes than limit.
func ReadAt(path, name string, limit int64) ([]byte, error) {
	if name == path {
		return disk.ReadStream(path, limit)
	}
	inside, err := filepath.Rel(path, name)
	if err != nil {
		return nil, err
	}
	return disk.ReadInside(path, inside, limit)
}

// filesBelow reads the file at a path, or the manifests in the folder there and in those below it.
func filesBelow(path string, read func(name string) ([]byte, error)) (files []source.File, err error) {
	names, err := Below(path, isManifest)
	for _, name := range names {
		data, failure := read(name)
		if failure != nil {
			err = failure
			break
		}
		files = append(files, source.File{Name: name, Data: data})
	}
	if err != nil {
		return nil, fmt.Errorf("reading manifests: %w", err)
	}
	return files, nil
}

// Below returns the file at a path, or the matching files in the folder there and in those below it, sorted. It omits
// files and folders that begin with a dot. It fails if the path or a folder is unreadable.
func Below(path string, matches func(name string) bool) (names []string, err error) {
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != path && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return filepath.SkipDir
			}
		case !entry.IsDir() && (name == path || matches(name)):
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

func isManifest(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}
