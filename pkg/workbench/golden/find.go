// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ErrNoTests means that there is nothing to run.
var ErrNoTests = errors.New("no tests")

// The names by which a folder is known to be a case.
const (
	CaseFile = "case.yaml"
	InFile   = "in.yaml"
	InFolder = "in"
	WantFile = "want.yaml"
	WantDiff = "want.diff"
	// WantFolder has a file for each object.
	WantFolder = "want"
	// ProfileFile is the name of a profile beside tests or above them.
	ProfileFile = "profile.yaml"
)

// ownFolders are those in which a case may have its own files.
var ownFolders = []string{InFolder, WantFolder, "cluster", "present", "old"}

// Found are the tests below some paths.
type Found struct {
	Cases []*Case
	// Stale are golden files that no case holds any more.
	Stale []string
}

// Find finds the tests below files and folders, in the order of the paths and then by name. The error wraps ErrNoTests, is one
// of the file system, or source.Findings of all that is wrong with the files.
func Find(kinds []Kind, paths ...string) (*Found, error) {
	f := finder{kinds: kinds, seen: map[string]bool{}}
	for _, path := range paths {
		if err := f.path(filepath.Clean(path)); err != nil {
			return nil, fmt.Errorf("finding tests: %w", err)
		}
	}
	if err := f.findings.Err(); err != nil {
		return nil, err
	}
	if len(f.found.Cases) == 0 {
		return nil, fmt.Errorf("%w in %s: a test is a YAML document of kind %s, or a folder with %s, %s, %s or %s", ErrNoTests,
			strings.Join(paths, ", "), tables(kinds), CaseFile, InFile, WantFile, WantDiff)
	}
	f.found.Stale = f.stale()
	return &f.found, nil
}

// tables are the kinds of tables.
func tables(kinds []Kind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = kind.Profile() + "Test"
	}
	return strings.Join(names, " or ")
}

// Only keeps the cases of which the ID matches. Nothing is stale among some of the cases.
func (f *Found) Only(pattern *regexp.Regexp) (*Found, error) {
	chosen := slices.DeleteFunc(slices.Clone(f.Cases), func(c *Case) bool { return !pattern.MatchString(c.ID()) })
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%w match %q; there are %d, such as %s", ErrNoTests, pattern, len(f.Cases), f.Cases[0].ID())
	}
	return &Found{Cases: chosen}, nil
}

type finder struct {
	kinds    []Kind
	found    Found
	held     []string
	findings source.Findings
	// seen are the tables and folders that were read: paths may overlap.
	seen map[string]bool
}

func (f *finder) path(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		before := len(f.found.Cases) + len(f.findings)
		if err := f.file(path); err != nil || len(f.found.Cases)+len(f.findings) > before || f.seen[path] {
			return err
		}
		return fmt.Errorf("%w in %s: it has no document of kind %s", ErrNoTests, path, tables(f.kinds))
	}
	cases := map[string]bool{}
	return filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != path && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case entry.IsDir() && isCase(name):
			if outer := owner(name, cases); outer != "" {
				f.findings = append(f.findings, source.Node{File: name}.Finding("",
					"may be a test, or have files of the test %s: move the one out of the other, or give it another name", outer))
				return filepath.SkipDir
			}
			cases[name] = true // there may be more tests in it, and below it
			f.folder(name)
		case !entry.IsDir() && (filepath.Ext(name) == ".yaml" || filepath.Ext(name) == ".yml"):
			return f.file(name)
		}
		return nil
	})
}

// owner is the case of which a folder may be one of its own, or stand in one; "" where there is none.
func owner(folder string, cases map[string]bool) string {
	for up := folder; up != filepath.Dir(up); up = filepath.Dir(up) {
		if outer := filepath.Dir(up); cases[outer] && slices.Contains(ownFolders, filepath.Base(up)) {
			return outer
		}
	}
	return ""
}

// isCase says whether a folder is that of a case.
func isCase(folder string) bool {
	for _, name := range []string{CaseFile, InFile, WantFile, WantDiff, InFolder, WantFolder} {
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.IsDir() == (name == InFolder || name == WantFolder) {
			return true
		}
	}
	return false
}

// file reads the tables of a file; other documents are no tests.
func (f *finder) file(path string) error {
	data, err := Read(path)
	if err != nil || !slices.ContainsFunc(f.kinds, func(k Kind) bool { return bytes.Contains(data, []byte(k.Profile()+"Test")) }) {
		return err
	}
	if f.seen[path] {
		return nil
	}
	f.seen[path] = true
	nodes, findings := source.Parse(source.File{Name: path, Data: data})
	f.findings = append(f.findings, findings...)
	if len(findings) > 0 {
		return nil
	}
	for _, node := range nodes {
		for _, kind := range f.kinds {
			if kindOf(node) == kind.Profile()+"Test" {
				suite, findings := kind.Table(node)
				f.add(kind, suite, findings)
			}
		}
	}
	return nil
}

func kindOf(document source.Node) string {
	for _, field := range document.Fields() {
		if field.Key.Value == "kind" {
			return field.Value.Value
		}
	}
	return ""
}

// folder reads a case. Its kind is that of the profile that it names, or else of the one beside it or above.
func (f *finder) folder(path string) {
	if f.seen[path] {
		return
	}
	f.seen[path] = true
	kind := f.kinds[0]
	if profile, ok := profileOf(path); ok && len(f.kinds) > 1 {
		data, err := Read(profile)
		nodes, _ := source.Parse(source.File{Name: profile, Data: data})
		for _, other := range f.kinds {
			if err == nil && len(nodes) > 0 && kindOf(nodes[0]) == other.Profile() {
				kind = other
			}
		}
	}
	suite, findings := kind.Folder(path)
	f.add(kind, suite, findings)
}

// profileOf is the profile of a case in a folder.
func profileOf(folder string) (string, bool) {
	name := filepath.Join(folder, CaseFile)
	if data, err := Read(name); err == nil {
		if nodes, _ := source.Parse(source.File{Name: name, Data: data}); len(nodes) > 0 {
			if named := nodes[0].Get("profiles").Items(); len(named) > 0 {
				return filepath.Join(folder, filepath.FromSlash(named[0].Value)), true
			}
		}
	}
	return NearestProfile(folder)
}

func (f *finder) add(kind Kind, suite Suite, findings source.Findings) {
	for _, c := range suite.Cases {
		c.kind = kind
	}
	f.found.Cases = append(f.found.Cases, suite.Cases...)
	f.held = append(f.held, suite.Held...)
	f.findings = append(f.findings, findings...)
}

func (f *finder) stale() []string {
	held := map[string]bool{}
	for _, c := range f.found.Cases {
		for _, path := range c.Goldens {
			held[path] = true
		}
	}
	return slices.DeleteFunc(f.held, func(path string) bool { return held[path] })
}

// NearestProfile is the profile.yaml in a folder, or in the nearest above it that has one.
func NearestProfile(folder string) (string, bool) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return "", false
	}
	for up := folder; ; up = filepath.Join(up, "..") {
		path := filepath.Join(up, ProfileFile)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, true
		}
		if absolute == filepath.Dir(absolute) {
			return "", false
		}
		absolute = filepath.Dir(absolute)
	}
}
