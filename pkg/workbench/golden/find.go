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

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// ErrNoTests means that there is nothing to run.
var ErrNoTests = errors.New("no tests")

// profileFile is the name of a profile in the folder of its tests or above it.
const profileFile = "profile.yaml"

// Found are the tests below some paths.
type Found struct {
	Cases []*Case
	// Stale are golden files that no case holds any more.
	Stale []string
}

// Find finds the tests below files and folders, sorted by the order of the paths and then by name. The error wraps
// ErrNoTests, is one of the file system, or is source.Findings with all mistakes in the files.
func Find(testers []Tester, paths ...string) (*Found, error) {
	names := make([]string, len(testers))
	for i, tester := range testers {
		names[i] = tester.Name()
	}
	var findings source.Findings
	found, seen, held := &Found{}, map[string]bool{}, map[string]bool{} // paths may overlap
	for _, path := range paths {
		path = filepath.Clean(path)
		files, err := manifest.Below(path, folder.IsYAML)
		for _, name := range files {
			var suites []*Suite
			if suites, err = read(testers, name); err != nil {
				break
			}
			if name == path && len(suites) == 0 {
				err = fmt.Errorf("%w in %s: it has no document of kind %s", ErrNoTests, path, strings.Join(names, " or "))
			}
			for _, s := range suites {
				if !seen[name] {
					found.Cases, found.Stale, findings = append(found.Cases, s.Cases...), append(found.Stale, s.Held...), append(findings, s.Findings...)
				}
			}
			seen[name] = true
		}
		if err != nil {
			return nil, fmt.Errorf("finding tests: %w", err)
		}
	}
	if err := findings.Err(); err != nil {
		return nil, err
	}
	if len(found.Cases) == 0 {
		return nil, fmt.Errorf("%w in %s: a test is a YAML document of kind %s", ErrNoTests, strings.Join(paths, ", "), strings.Join(names, " or "))
	}
	for _, c := range found.Cases {
		held[c.Golden] = true
	}
	found.Stale = slices.DeleteFunc(found.Stale, func(path string) bool { return held[path] })
	return found, nil
}

// read reads the tables of a file, one Suite for each; other documents are no tests.
func read(testers []Tester, path string) ([]*Suite, error) {
	data, err := Read(path)
	if err != nil || !slices.ContainsFunc(testers, func(t Tester) bool { return bytes.Contains(data, []byte(t.Name())) }) {
		return nil, err
	}
	nodes, findings := source.Parse(source.File{Name: path, Data: data})
	if len(findings) > 0 {
		return []*Suite{{Findings: findings}}, nil
	}
	var suites []*Suite
	for _, node := range nodes {
		for _, tester := range testers {
			if written := node.Get("kind"); written.Absent() || written.Value != tester.Name() {
				continue
			}
			suite := tester.Table(node)
			for _, c := range suite.Cases {
				c.tester = tester
			}
			suites = append(suites, suite)
		}
	}
	return suites, nil
}

// Only keeps the cases with a matching ID. The result has no stale files. It fails with ErrNoTests if none matches.
func (f *Found) Only(pattern *regexp.Regexp) (*Found, error) {
	chosen := slices.DeleteFunc(slices.Clone(f.Cases), func(c *Case) bool { return !pattern.MatchString(c.ID()) })
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%w match %q; there are %d, such as %s", ErrNoTests, pattern, len(f.Cases), f.Cases[0].ID())
	}
	return &Found{Cases: chosen}, nil
}

// nearestProfile returns the profile.yaml in a folder or its nearest ancestor with one.
func nearestProfile(folder string) (string, bool) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return "", false
	}
	for up := folder; ; up = filepath.Join(up, "..") {
		path := filepath.Join(up, profileFile)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, true
		}
		if absolute == filepath.Dir(absolute) {
			return "", false
		}
		absolute = filepath.Dir(absolute)
	}
}

// maximumSize limits a file of a test, in bytes: a case has at most some control planes.
const maximumSize = 64 << 20

// Read reads a file of a test. Links must stay inside the folder of the nearest profile.yaml, or inside the file's
// folder if there is none. It fails for another file, or an unreadable one.
func Read(path string) ([]byte, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(absolute)
	if nearest, ok := nearestProfile(folder); ok {
		folder = filepath.Dir(nearest)
	}
	inside, err := filepath.Rel(folder, absolute)
	if err != nil {
		return nil, err
	}
	data, err := disk.ReadInside(folder, inside, maximumSize)
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return nil, &fs.PathError{Op: at.Op, Path: path, Err: at.Err}
	}
	return data, err
}

// ErrNoProfile means that a test has no profile.
var ErrNoProfile = errors.New("no profile: name it in profiles, put it as profile.yaml into this folder or one above it, or give it with --profile")

// Suite holds the cases of one table. It finds cases without a name, and names and golden files that several cases have.
type Suite struct {
	// Node is the table.
	Node source.Node
	// Profiles are the paths of the tested profiles: those that the table names, or else the given ones, or the nearest.
	Profiles []string
	Cases    []*Case
	// Held are the existing golden files, including files that belong to no case.
	Held     []string
	Findings source.Findings

	// goldens are the names of cases by their golden files.
	goldens map[string]string
}

// NewSuite decodes a table. If there are findings, its cases cannot be read. The given profiles are for tables that name
// none.
func NewSuite(table source.Node, kind string, into any, given []string) *Suite {
	s := &Suite{Node: table, Findings: source.Decode(table, "", into), Profiles: given, goldens: map[string]string{}}
	head := profile.CheckHead(table, kind)
	s.Findings = append(s.Findings, slices.DeleteFunc(head, func(f source.Finding) bool { return f.Path == "kind" })...) // lint reports it
	if cases := table.Get("cases"); len(cases.Items()) == 0 && len(s.Findings) == 0 {
		at := table
		if cases.Node != nil {
			at = cases
		}
		s.Findings = append(s.Findings, at.Finding("cases", "has no case"))
	}
	beside := filepath.Dir(table.File)
	if named := table.Get("profiles").Items(); len(named) > 0 {
		s.Profiles = make([]string, len(named))
		for i, name := range named {
			s.Profiles[i] = filepath.Join(beside, filepath.FromSlash(name.Value))
		}
	} else if nearest, ok := nearestProfile(beside); ok && len(given) == 0 {
		s.Profiles = []string{nearest}
	}
	return s
}

// AddNew adds findings that are not there yet: those of all cells of a case, or of what several cases use.
func (s *Suite) AddNew(findings source.Findings) {
	for _, one := range findings {
		if !slices.Contains(s.Findings, one) {
			s.Findings = append(s.Findings, one)
		}
	}
}

// Each yields the cases of the table that have a name of their own, with their index.
func (s *Suite) Each(yield func(i int, of source.Node) bool) {
	names := map[string]source.Position{}
	for i, of := range s.Node.Get("cases").Items() {
		name := of.Get("name")
		if name.Absent() || name.Value == "" {
			s.Findings = append(s.Findings, of.Finding("cases", "a case has no name"))
			continue
		}
		if earlier, twice := names[name.Value]; twice {
			s.Findings = append(s.Findings, name.Finding("cases", "a case named %q already exists at %s", name.Value, earlier))
			continue
		}
		if names[name.Value] = name.Position(); !yield(i, of) {
			return
		}
	}
}

// Add adds a case under a name that may be longer than the written one. The name of its golden file is empty if it has
// none. Add reports whether no other case has this file.
func (s *Suite) Add(written source.Text, name, golden string, test Test) bool {
	c := &Case{Suite: s.Node.File, Name: name, Position: written.At.Position(), Test: test}
	if golden != "" {
		c.Golden = filepath.Join(s.folder(), golden)
		if other, ok := s.goldens[c.Golden]; ok {
			s.Findings = append(s.Findings, written.At.Finding("cases", "has the golden file %s, as has the case %q", c.Golden, other))
			return false
		}
		s.goldens[c.Golden] = written.Value
	}
	s.Cases = append(s.Cases, c)
	return true
}

// Hold lists the files of the table's folder that have this suffix as its golden files.
func (s *Suite) Hold(ending string) {
	entries, err := os.ReadDir(s.folder())
	if err != nil && !os.IsNotExist(err) {
		s.Findings = append(s.Findings, source.FindingsOf(s.Node, "", err)...)
	}
	for _, entry := range entries {
		if !entry.IsDir() && strings.HasSuffix(entry.Name(), ending) {
			s.Held = append(s.Held, filepath.Join(s.folder(), entry.Name()))
		}
	}
}

// folder returns the folder with the golden files of the table.
func (s *Suite) folder() string { return strings.TrimSuffix(s.Node.File, filepath.Ext(s.Node.File)) }

var unfit = regexp.MustCompile("[^A-Za-z0-9._-]+")

// Slug returns a name in a form usable in file names.
func Slug(name string) string { return strings.Trim(unfit.ReplaceAllString(name, "-"), "-") }
