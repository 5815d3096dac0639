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

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// ErrNoTests means that there is nothing to run.
var ErrNoTests = errors.New("no tests")

// ProfileFile is the name of a profile in the folder of its tests or above it.
const ProfileFile = "profile.yaml"

// Found are the tests below some paths.
type Found struct {
	Cases []*Case
	// Stale are golden files that no case holds any more.
	Stale []string
}

// Find finds the tests below files and folders, sorted by the order of the paths and then by name. The error wraps
// ErrNoTests, is one of the file system, or is source.Findings with all mistakes in the files.
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
		return nil, fmt.Errorf("%w in %s: a test is a YAML document of kind %s", ErrNoTests, strings.Join(paths, ", "), tables(kinds))
	}
	f.found.Stale = f.stale()
	return &f.found, nil
}

// tables returns the kinds of tables.
func tables(kinds []Kind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = kind.Profile() + "Test"
	}
	return strings.Join(names, " or ")
}

// Only keeps the cases with a matching ID. The result has no stale files. It fails with ErrNoTests if none matches.
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
	// seen are the files that were read: paths may overlap.
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
	names, err := manifest.Below(path, folder.IsYAML)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := f.file(name); err != nil {
			return err
		}
	}
	return nil
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
		held[c.Golden] = true
	}
	return slices.DeleteFunc(f.held, func(path string) bool { return held[path] })
}

// NearestProfile returns the profile.yaml in a folder or its nearest ancestor with one.
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
	if profile, ok := NearestProfile(folder); ok {
		folder = filepath.Dir(profile)
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

// Reader reads the cases of a table. It finds cases without a name, and names and golden files that several cases have.
type Reader struct {
	// Node is the table.
	Node     source.Node
	Cases    []*Case
	Findings source.Findings

	names map[string]source.Position
	// goldens are the names of cases by their golden files.
	goldens map[string]string
}

// NewReader decodes a table. It has no cases if there are findings.
func NewReader(table source.Node, into any) *Reader {
	r := &Reader{Node: table, Findings: source.Decode(table, "", into), names: map[string]source.Position{}, goldens: map[string]string{}}
	want := v1alpha1.GroupVersion.String()
	if version := table.Get("apiVersion"); version.Node == nil {
		r.Findings = append(r.Findings, table.Finding("apiVersion", "is missing: must be %s", want))
	} else if version.Value != want {
		r.Findings = append(r.Findings, version.Finding("apiVersion", "unknown apiVersion %q%s: must be %s", version.Value,
			source.Suggest(version.Value, []string{want}), want))
	}
	if cases := table.Get("cases"); len(cases.Items()) == 0 && len(r.Findings) == 0 {
		at := table
		if cases.Node != nil {
			at = cases
		}
		r.Findings = append(r.Findings, at.Finding("cases", "has no case"))
	}
	return r
}

// Begin reports whether a case of the table has a name of its own.
func (r *Reader) Begin(of source.Node, name source.Text) bool {
	switch earlier, twice := r.names[name.Value]; {
	case name.Value == "":
		r.Findings = append(r.Findings, of.Finding("cases", "a case has no name"))
	case twice:
		r.Findings = append(r.Findings, name.At.Finding("cases", "a case named %q already exists at %s", name.Value, earlier))
	default:
		r.names[name.Value] = name.At.Position()
		return true
	}
	return false
}

// Add adds a case under a name that may be longer than the written one. The name of its golden file is empty if it has
// none. Add reports whether no other case has this file.
func (r *Reader) Add(written source.Text, name, golden string, test Test) bool {
	c := &Case{Suite: r.Node.File, Name: name, Position: written.At.Position(), Test: test}
	if golden != "" {
		c.Golden = filepath.Join(r.folder(), golden)
		if other, ok := r.goldens[c.Golden]; ok {
			r.Findings = append(r.Findings, written.At.Finding("cases", "has the golden file %s, as has the case %q", c.Golden, other))
			return false
		}
		r.goldens[c.Golden] = written.Value
	}
	r.Cases = append(r.Cases, c)
	return true
}

// End returns the cases with the files of their folder that have these suffixes.
func (r *Reader) End(endings ...string) (Suite, source.Findings) {
	held, err := filesIn(r.folder(), endings...)
	return Suite{Cases: r.Cases, Held: held}, append(r.Findings, source.FindingsOf(r.Node, "", err)...)
}

// folder returns the folder with the golden files of the table.
func (r *Reader) folder() string { return strings.TrimSuffix(r.Node.File, filepath.Ext(r.Node.File)) }

// ProfilesFor returns the profiles of a test in a folder: those that it names, relative to the folder, or else the
// given ones, or the nearest. It returns none if there is none.
func ProfilesFor(folder string, named []source.Text, given []string) []string {
	if len(named) > 0 {
		paths := make([]string, len(named))
		for i, name := range named {
			paths[i] = filepath.Join(folder, filepath.FromSlash(name.Value))
		}
		return paths
	}
	if len(given) > 0 {
		return given
	}
	if nearest, ok := NearestProfile(folder); ok {
		return []string{nearest}
	}
	return nil
}

// filesIn returns the files with these suffixes in a folder, if it exists.
func filesIn(folder string, endings ...string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var held []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(entry.Name(), end) }) {
			held = append(held, filepath.Join(folder, entry.Name()))
		}
	}
	return held, nil
}

var unfit = regexp.MustCompile("[^A-Za-z0-9._-]+")

// Slug returns a name in a form usable in file names.
func Slug(name string) string { return strings.Trim(unfit.ReplaceAllString(name, "-"), "-") }
