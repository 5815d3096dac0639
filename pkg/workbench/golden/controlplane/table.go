// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	jsonpatch "github.com/evanphx/json-patch/v5"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

// Table implements golden.Tester: each case of a table becomes one for each of its shoots and versions.
func (t *Tester) Table(node source.Node) *golden.Suite {
	r := tableReader{tester: t}
	if r.Suite = golden.NewSuite(node, t.Name(), &r.table, t.profiles); len(r.Findings) == 0 {
		r.read()
		r.Hold(diffEnding)
	}
	return r.Suite
}

// diffEnding is the suffix of golden files' names; other files in the folder may have manifests.
const diffEnding = ".diff"

type tableReader struct {
	*golden.Suite

	tester *Tester
	table  v1alpha1.ProviderProfileTest
	// written are the objects of all cases that Gardener does not write.
	written []manifest.Object
	// absent are the expectations that an object without a target is absent.
	absent []expectation
}

func (r *tableReader) read() {
	defaults := r.Node.Get("defaults")
	base := layer(defaults)
	among, findings := base.versions(nil)
	r.Findings = append(r.Findings, findings...)
	profiles := readProfiles(r.Profiles)
	for i, node := range r.Each {
		c := &r.table.Cases[i]
		expected, findings := compileExpectations(c, node.Get("expect"), "cases["+c.Name.Value+"].expect", profiles)
		r.Findings = append(r.Findings, findings...)
		for _, e := range expected {
			if e.State == v1alpha1.TestAbsent && e.target == nil && !e.others {
				r.absent = append(r.absent, e)
			}
		}
		if len(c.Expect) == 0 && c.Golden == "" {
			r.Findings = append(r.Findings, c.Name.At.Finding("cases["+c.Name.Value+"]", "expects nothing: it has neither expect nor golden"))
		}
		for _, shoot := range r.shootsOf(c) {
			r.cells(c, shoot, expected, among, defaults, r.Node.Get("shoots").Get(shoot), node)
		}
	}
	for _, e := range r.absent {
		names := e.names("objects")
		for _, o := range r.written {
			if strings.EqualFold(o.Kind, e.kind) {
				names = append(names, o.Name)
			}
		}
		_, isNear := source.Nearest(e.name, names)
		if !slices.Contains(names, e.name) && !profiles.mentions(e.name) && (isNear || !slices.Contains(partlyKnown, strings.ToLower(e.kind))) {
			r.Findings = append(r.Findings, e.at.Finding("expect."+e.title, writtenByNobody+"the %s %q%s", e.kind, e.name, source.Suggest(e.name, names)))
		}
	}
}

// partlyKnown are kinds with objects that Gardener writes and the samples lack.
var partlyKnown = []string{"service", "verticalpodautoscaler", "operatingsystemconfig"}

// shootsOf returns the names of the shoots of a case, in the order of the document, or one empty name.
func (r *tableReader) shootsOf(c *v1alpha1.TestCase) []string {
	var known, names []string
	for _, f := range r.Node.Get("shoots").Fields() {
		known = append(known, f.Key.Value)
	}
	for _, name := range c.For {
		names = append(names, name.Value)
		if !slices.Contains(known, name.Value) {
			r.Findings = append(r.Findings, name.At.Finding("cases["+c.Name.Value+"].for", "unknown shoot %q%s", name.Value, source.Suggest(name.Value, known)))
		}
	}
	switch {
	case len(names) > 0:
		return names
	case len(known) > 0:
		return known
	}
	return []string{""}
}

// maximumCases bounds a table.
const maximumCases = 20000

// cells adds a case for a shoot, once for each version.
func (r *tableReader) cells(c *v1alpha1.TestCase, shoot string, expected []expectation, among []string, layers ...source.Node) {
	s := layer(layers...)
	base := caseTest{at: c.Name.At, expected: expected, golden: c.Golden != "", planes: &r.tester.planes}
	base.written = source.Place{Node: s.written}
	base.program = r.tester.program(r.Profiles, s.Legacy, s.Parameters)
	versions, findings := s.versions(among)
	if len(findings) == 0 {
		findings = base.read(&s, "cases["+c.Name.Value+"].")
	}
	if len(findings) == 0 && len(r.Cases)+len(versions) > maximumCases {
		findings = source.Findings{r.Node.Finding("cases", "with all shoots and versions there are more than %d cases", maximumCases)}
	}
	if len(findings) > 0 {
		r.AddNew(findings)
		return
	}
	r.written = slices.Concat(r.written, base.input.Objects, base.more)
	for _, version := range versions {
		test := base
		test.input.Options.Kubernetes = version
		file := ""
		if c.Golden != "" {
			file = join(".", golden.Slug(c.Name.Value), golden.Slug(shoot), version) + diffEnding
		}
		if !r.Add(c.Name, join(", ", c.Name.Value, shoot, version), file, &test) {
			return
		}
	}
}

// join joins the parts that are not empty.
func join(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), separator)
}

// beside returns a path that is relative to the file that names it.
func beside(named source.Text) string {
	return filepath.Join(filepath.Dir(named.At.File), filepath.FromSlash(named.Value))
}

// read converts the setting to options, objects and edits.
func (test *caseTest) read(s *setting, path string) source.Findings {
	var findings source.Findings
	test.input.Options, findings = s.options()
	for _, named := range s.Manifests {
		objects, err := manifest.ReadWith(beside(named), golden.Read)
		if errors.Is(err, fs.ErrNotExist) {
			err = named.At.Finding(path+"manifests", "there is no file or folder %q", named.Value)
		}
		test.input.Objects = append(test.input.Objects, objects...)
		findings = append(findings, source.FindingsOf(named.At, path+"manifests", err)...)
	}
	var present, objects source.Findings
	test.input.Present, present = readObjects(s.Present, path+"present")
	test.more, objects = readObjects(s.Objects, path+"objects")
	edits := test.addEdits(s.Edits, path+"edits", false)
	old := test.addEdits(s.Old, path+"old", true)
	return slices.Concat(findings, present, objects, edits, old)
}

// setting is a setting after merging the settings that it is based on, which written contains.
type setting struct {
	v1alpha1.TestSetting
	written source.Node
}

// mergedFields are the fields of settings that are merged instead of replaced. The value is true if a null is kept
// because it has a meaning.
var mergedFields = map[string]bool{"annotations": false, "parameters": false, "shoot": true, "cloudProfile": true, "seed": true}

// layer merges settings; later ones take precedence.
func layer(layers ...source.Node) setting {
	var s setting
	for _, one := range layers {
		s.written = overlay(s.written, one, mergedFields, false)
	}
	_ = source.Decode(s.written, "", &s.TestSetting) // each layer was decoded already; a case has other fields too
	return s
}

// overlay returns a mapping with the members of two; those of the second one take precedence. The members of the named
// ones, or of all without names, are merged in turn. A null removes a member unless nulls are kept.
func overlay(base, over source.Node, merged map[string]bool, keepNull bool) source.Node {
	out := source.Node{Node: &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, File: over.File}
	if over.Node != nil {
		out.Line, out.Column = over.Line, over.Column
	}
	for _, f := range base.Fields() {
		if !over.Has(f.Key.Value) {
			out.Content = append(out.Content, f.Key.Node, f.Value.Node)
		}
	}
	for _, f := range over.Fields() {
		keeps, merges := merged[f.Key.Value]
		if merged == nil {
			keeps, merges = keepNull, true
		}
		if merges && f.Value.Kind == yaml.MappingNode {
			f.Value = overlay(base.Get(f.Key.Value), f.Value, nil, keeps)
		}
		if !f.Value.Absent() || keepNull {
			out.Content = append(out.Content, f.Key.Node, f.Value.Node)
		}
	}
	return out
}

// versions returns the versions of Kubernetes; constraints select from the given ones. A single empty version means the
// newest.
func (s *setting) versions(among []string) ([]string, source.Findings) {
	var (
		versions []string
		findings source.Findings
	)
	for _, entry := range s.Kubernetes {
		if _, err := semver.StrictNewVersion(entry.Value); err == nil {
			versions = append(versions, entry.Value)
			continue
		}
		constraint, err := semver.NewConstraint(entry.Value)
		if err != nil {
			findings = append(findings, entry.At.Finding("kubernetes", "%q is neither a version, such as 1.34.2, nor a constraint, such as \"< 1.34\"", entry.Value))
			continue
		}
		chosen := slices.DeleteFunc(slices.Clone(among), func(version string) bool {
			parsed, err := semver.NewVersion(version)
			return err != nil || !constraint.Check(parsed)
		})
		if len(chosen) == 0 {
			findings = append(findings, entry.At.Finding("kubernetes", "%q chooses none of the versions in defaults.kubernetes: %s; a version has three numbers, such as 1.34.2",
				entry.Value, source.ListKnown(among)))
		}
		versions = append(versions, chosen...)
	}
	if len(versions) == 0 && len(findings) == 0 {
		versions = []string{""}
	}
	return versions, findings
}

// options returns the options of the generated objects without the version. They have the names of the setting's fields.
func (s *setting) options() (snapshot.Options, source.Findings) {
	var o struct {
		snapshot.Options
		Kubernetes any `json:"kubernetes"` // not that of Options, which is one version
	}
	raw, err := golden.JSON(s.written)
	if err == nil {
		err = json.Unmarshal(raw, &o)
	}
	o.MarkWritten()
	return o.Options, source.FindingsOf(s.written, "", err)
}

// readObjects returns the objects in nodes.
func readObjects(nodes []source.Node, path string) ([]manifest.Object, source.Findings) {
	var (
		all      []manifest.Object
		findings source.Findings
	)
	for i, node := range nodes {
		var object manifest.Object
		raw, err := golden.JSON(node)
		if err == nil {
			object, err = manifest.New(raw, node.Position())
		}
		all, findings = append(all, object), append(findings, source.FindingsOf(node, fmt.Sprintf("%s[%d]", path, i), err)...)
	}
	return all, findings
}

// edit changes objects before they are admitted.
type edit struct {
	selector

	patch jsonpatch.Patch
	// ofOld means that it changes the existing object instead of the new one.
	ofOld bool
	// used means that the run of the case has changed an object.
	used bool
}

// addEdits compiles edits.
func (test *caseTest) addEdits(written []v1alpha1.TestEdit, path string, ofOld bool) source.Findings {
	var findings source.Findings
	for i, w := range written {
		at := fmt.Sprintf("%s[%d]", path, i)
		if w.Of.At.Node == nil {
			findings = append(findings, test.at.Finding(at+".of", "is missing: a target, or kind and name such as Deployment/acme"))
			continue
		}
		s, more := compileSelector(w.Of.At, at+".of", w.Of.Value, w.Purposes, false)
		findings = append(findings, more...)
		if len(w.Patch) == 0 {
			findings = append(findings, w.Of.At.Finding(at, "changes nothing: it has no patch"))
		}
		patch, err := patchOf(w.Patch)
		if err != nil {
			findings = append(findings, w.Patch[0].Finding(at+".patch", "must be operations of RFC 6902, such as {op: replace, path: /spec/replicas, value: 1}"))
		}
		test.edits = append(test.edits, edit{selector: s, patch: patch, ofOld: ofOld})
	}
	return findings
}

func patchOf(operations []source.Node) (jsonpatch.Patch, error) {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, one := range operations {
		list.Content = append(list.Content, one.Node)
	}
	raw, err := golden.JSON(source.Node{Node: list})
	if err != nil {
		return nil, err
	}
	return jsonpatch.DecodePatch(raw)
}
