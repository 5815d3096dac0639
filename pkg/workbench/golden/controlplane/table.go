// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
)

// Table implements golden.Kind: each case of a table becomes one for each of its shoots and versions.
func (t *Tester) Table(node source.Node) (golden.Suite, source.Findings) {
	r := tableReader{tester: t, node: node, goldens: map[string]string{}}
	r.findings = source.Decode(node, "", &r.table)
	r.head()
	if len(r.findings) > 0 {
		return golden.Suite{}, r.findings
	}
	r.read()
	held, err := r.held()
	r.findings = append(r.findings, source.FindingsOf(node, "", err)...)
	return golden.Suite{Cases: r.cases, Held: held}, r.findings
}

type tableReader struct {
	tester   *Tester
	node     source.Node
	table    v1alpha1.ProviderProfileTest
	cases    []*golden.Case
	findings source.Findings
	// goldens are the cases by the golden files that they hold.
	goldens map[string]string
}

// field is the value of a field of a mapping; absent where there is none.
func field(n source.Node, name string) source.Node {
	for _, f := range n.Fields() {
		if f.Key.Value == name {
			return f.Value
		}
	}
	return source.Node{File: n.File}
}

func (r *tableReader) head() {
	want := v1alpha1.GroupVersion.String()
	if version := field(r.node, "apiVersion"); version.Node == nil {
		r.findings = append(r.findings, r.node.Finding("apiVersion", "is missing: must be %s", want))
	} else if version.Value != want {
		r.findings = append(r.findings, version.Finding("apiVersion", "unknown apiVersion %q%s: must be %s", version.Value,
			source.Suggest(version.Value, []string{want}), want))
	}
	if cases := field(r.node, "cases"); len(r.table.Cases) == 0 && len(r.findings) == 0 {
		at := r.node
		if cases.Node != nil {
			at = cases
		}
		r.findings = append(r.findings, at.Finding("cases", "has no case"))
	}
}

func (r *tableReader) read() {
	defaults := field(r.node, "defaults")
	base := layer(defaults)
	among, findings := base.versions(nil)
	r.findings = append(r.findings, findings...)
	seen := map[string]source.Position{}
	for i, node := range field(r.node, "cases").Items() {
		c := &r.table.Cases[i]
		switch earlier, twice := seen[c.Name.Value]; {
		case c.Name.Value == "":
			r.findings = append(r.findings, node.Finding("cases", "a case has no name"))
			continue
		case twice:
			r.findings = append(r.findings, c.Name.At.Finding("cases", "a case of the name %q stands at %s already", c.Name.Value, earlier))
			continue
		}
		seen[c.Name.Value] = c.Name.At.Position()
		expected, findings := compileExpectations(c.Expect, "cases["+c.Name.Value+"].expect")
		r.findings = append(r.findings, findings...)
		if len(c.Expect) == 0 && c.Golden == "" {
			r.findings = append(r.findings, c.Name.At.Finding("cases["+c.Name.Value+"]", "expects nothing: it has neither expect nor golden"))
		}
		for _, shoot := range r.shootsOf(c) {
			r.cells(c, shoot, expected, among, defaults, field(field(r.node, "shoots"), shoot), node)
		}
	}
}

// shootsOf are the names of the shoots of a case, in the order in which they are written; one empty name where there are none.
func (r *tableReader) shootsOf(c *v1alpha1.TestCase) []string {
	var known []string
	for _, f := range field(r.node, "shoots").Fields() {
		known = append(known, f.Key.Value)
	}
	if len(c.For) == 0 && len(known) == 0 {
		return []string{""}
	}
	if len(c.For) == 0 {
		return known
	}
	var names []string
	for _, name := range c.For {
		if !slices.Contains(known, name.Value) {
			r.findings = append(r.findings, name.At.Finding("cases["+c.Name.Value+"].for", "unknown shoot %q%s", name.Value, source.Suggest(name.Value, known)))
			continue
		}
		names = append(names, name.Value)
	}
	return names
}

// maximumCases bounds a table.
const maximumCases = 20000

// cells adds a case for a shoot, once for each version. The same is said of all versions, so that findings are those of the first.
func (r *tableReader) cells(c *v1alpha1.TestCase, shoot string, expected []expectation, among []string, layers ...source.Node) {
	s := layer(layers...)
	versions, findings := s.versions(among)
	if len(findings) > 0 {
		r.findings = appendNew(r.findings, findings)
		return
	}
	if len(r.cases)+len(versions) > maximumCases {
		r.findings = appendNew(r.findings, source.Findings{r.node.Finding("cases", "with all shoots and versions there are more than %d cases", maximumCases)})
		return
	}
	for _, version := range versions {
		tr := &trial{setting: s, parameters: s.Parameters, at: c.Name.At.Position(), expected: expected}
		tr.profiles = r.tester.profilesFor(filepath.Dir(r.node.File), texts(r.table.Profiles))
		findings := tr.set(c.Name.At, version, "cases["+c.Name.Value+"].")
		if len(findings) > 0 {
			r.findings = appendNew(r.findings, findings)
			return
		}
		added := &golden.Case{Suite: r.node.File, Name: join(", ", c.Name.Value, shoot, version), Position: c.Name.At.Position(), Test: tr}
		if c.Golden != "" {
			path := filepath.Join(r.folder(), join(".", slug(c.Name.Value), slug(shoot), version)+"."+c.Golden)
			if other, ok := r.goldens[path]; ok {
				r.findings = append(r.findings, c.Name.At.Finding("cases", "has the golden file %s, as has the case %q", path, other))
				return
			}
			r.goldens[path] = c.Name.Value
			tr.hold(c.Golden, path)
			added.Goldens = []string{path}
		}
		r.cases = append(r.cases, added)
	}
}

// folder is where the golden files of the table are.
func (r *tableReader) folder() string {
	return strings.TrimSuffix(r.node.File, filepath.Ext(r.node.File))
}

// held are the golden files that are there.
func (r *tableReader) held() ([]string, error) {
	entries, err := os.ReadDir(r.folder())
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var held []string
	for _, entry := range entries {
		if extension := filepath.Ext(entry.Name()); !entry.IsDir() && (extension == ".diff" || extension == ".yaml") {
			held = append(held, filepath.Join(r.folder(), entry.Name()))
		}
	}
	return held, nil
}

// appendNew adds findings that are not there yet.
func appendNew(findings, more source.Findings) source.Findings {
	for _, one := range more {
		if !slices.Contains(findings, one) {
			findings = append(findings, one)
		}
	}
	return findings
}

// join joins the parts that are not empty.
func join(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), separator)
}

var unfit = regexp.MustCompile("[^A-Za-z0-9._-]+")

// slug is a name as a part of the name of a file.
func slug(name string) string { return strings.Trim(unfit.ReplaceAllString(name, "-"), "-") }

func texts(list []source.Text) []string {
	values := make([]string, len(list))
	for i, text := range list {
		values[i] = text.Value
	}
	return values
}

// set turns the setting into what is generated and what else there is.
func (tr *trial) set(at source.Node, version, path string) source.Findings {
	var findings source.Findings
	tr.input.Options, findings = tr.setting.options(version)
	present, more := objects(tr.setting.Present, path+"present")
	findings = append(findings, more...)
	tr.input.Present = append(tr.input.Present, present...)
	tr.more, more = objects(tr.setting.Objects, path+"objects")
	findings = append(findings, more...)
	tr.edits, more = compileEdits(at, tr.setting.Edits, path+"edits")
	findings = append(findings, more...)
	tr.old, more = compileEdits(at, tr.setting.Old, path+"old")
	return append(findings, more...)
}
