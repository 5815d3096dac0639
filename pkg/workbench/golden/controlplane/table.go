// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// Table implements golden.Kind: each case of a table becomes one for each of its shoots and versions.
func (t *Tester) Table(node source.Node) (golden.Suite, source.Findings) {
	r := tableReader{tester: t, node: node, goldens: map[string]string{}}
	r.findings = golden.CheckHead(node, source.Decode(node, "", &r.table))
	if len(r.findings) > 0 {
		return golden.Suite{}, r.findings
	}
	r.read()
	held, err := golden.Held(golden.TableFolder(node.File), ".diff", ".yaml")
	r.findings = append(r.findings, source.FindingsOf(node, "", err)...)
	return golden.Suite{Cases: r.cases, Held: slices.DeleteFunc(held, r.isInput)}, r.findings
}

// isInput reports whether a file has manifests of a case, which may be in the folder of the golden files.
func (r *tableReader) isInput(path string) bool {
	settings := append(r.node.Get("cases").Items(), r.node.Get("defaults"))
	for _, shoot := range r.node.Get("shoots").Fields() {
		settings = append(settings, shoot.Value)
	}
	return slices.ContainsFunc(settings, func(setting source.Node) bool {
		return slices.ContainsFunc(setting.Get("manifests").Items(), func(named source.Node) bool {
			input := filepath.Join(filepath.Dir(r.node.File), filepath.FromSlash(named.Value))
			return path == input || strings.HasPrefix(path, input+string(filepath.Separator))
		})
	})
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

func (r *tableReader) read() {
	defaults := r.node.Get("defaults")
	base := layer(defaults)
	among, findings := base.versions(nil)
	r.findings = append(r.findings, findings...)
	names := golden.Names{}
	profiles := readProfiles(golden.ProfilesFor(filepath.Dir(r.node.File), r.table.Profiles, r.tester.profiles))
	for i, node := range r.node.Get("cases").Items() {
		c := &r.table.Cases[i]
		if wrong := names.Add(node, c.Name); len(wrong) > 0 {
			r.findings = append(r.findings, wrong...)
			continue
		}
		expected, findings := compileExpectations(c.Expect, "cases["+c.Name.Value+"].expect", profiles)
		r.findings = append(r.findings, findings...)
		if len(c.Expect) == 0 && c.Golden == "" {
			r.findings = append(r.findings, c.Name.At.Finding("cases["+c.Name.Value+"]", "expects nothing: it has neither expect nor golden"))
		}
		for _, shoot := range r.shootsOf(c) {
			r.cells(c, shoot, expected, among, defaults, r.node.Get("shoots").Get(shoot), node)
		}
	}
}

// shootsOf returns the names of the shoots of a case, in the order of the document, or one empty name.
func (r *tableReader) shootsOf(c *v1alpha1.TestCase) []string {
	var known []string
	for _, f := range r.node.Get("shoots").Fields() {
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
		tr.profiles = golden.ProfilesFor(filepath.Dir(r.node.File), r.table.Profiles, r.tester.profiles)
		findings := tr.set(c.Name.At, version, "cases["+c.Name.Value+"].")
		if len(findings) > 0 {
			r.findings = appendNew(r.findings, findings)
			return
		}
		added := &golden.Case{Suite: r.node.File, Name: join(", ", c.Name.Value, shoot, version), Position: c.Name.At.Position(), Test: tr}
		if c.Golden != "" {
			path := filepath.Join(golden.TableFolder(r.node.File), join(".", golden.Slug(c.Name.Value), golden.Slug(shoot), version)+"."+c.Golden)
			if other, ok := r.goldens[path]; ok {
				r.findings = append(r.findings, c.Name.At.Finding("cases", "has the golden file %s, as has the case %q", path, other))
				return
			}
			r.goldens[path] = c.Name.Value
			tr.held = held{c.Golden, path}
			added.Goldens = []string{path}
		}
		r.cases = append(r.cases, added)
	}
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

// readManifests reads the objects of files and folders, which are relative to the table.
func readManifests(folder string, paths []source.Text, path string, findings source.Findings) ([]manifest.Object, source.Findings) {
	var all []manifest.Object
	for _, p := range paths {
		objects, err := manifest.ReadWith(filepath.Join(folder, filepath.FromSlash(p.Value)), golden.Read)
		if errors.Is(err, fs.ErrNotExist) {
			err = source.Findings{p.At.Finding(path, "there is no file or folder %q", p.Value)}
		}
		all, findings = append(all, objects...), append(findings, source.FindingsOf(p.At, path, err)...)
	}
	return all, findings
}

// set converts the setting to options and further objects.
func (tr *trial) set(at source.Node, version, path string) source.Findings {
	var findings source.Findings
	tr.input.Options, findings = tr.setting.options(version)
	if len(tr.setting.Manifests) > 0 {
		tr.input.Objects, findings = readManifests(filepath.Dir(tr.at.File), tr.setting.Manifests, path+"manifests", findings)
	}
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
