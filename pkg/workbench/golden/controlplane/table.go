// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/base64"
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
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/comparison"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

// Table implements golden.Kind: each case of a table becomes one for each of its shoots and versions.
func (t *Tester) Table(node source.Node) (golden.Suite, source.Findings) {
	r := tableReader{tester: t}
	if r.Reader = golden.NewReader(node, &r.table); len(r.Findings) > 0 {
		return golden.Suite{}, r.Findings
	}
	r.read()
	suite, findings := r.End(".diff", ".yaml")
	suite.Held = slices.DeleteFunc(suite.Held, r.isInput)
	return suite, findings
}

// isInput reports whether a file has manifests of a case, which may be in the folder of the golden files.
func (r *tableReader) isInput(path string) bool {
	settings := append(r.Node.Get("cases").Items(), r.Node.Get("defaults"))
	for _, shoot := range r.Node.Get("shoots").Fields() {
		settings = append(settings, shoot.Value)
	}
	return slices.ContainsFunc(settings, func(setting source.Node) bool {
		return slices.ContainsFunc(setting.Get("manifests").Items(), func(named source.Node) bool {
			input := filepath.Join(filepath.Dir(r.Node.File), filepath.FromSlash(named.Value))
			return path == input || strings.HasPrefix(path, input+string(filepath.Separator))
		})
	})
}

type tableReader struct {
	*golden.Reader

	tester *Tester
	table  v1alpha1.ProviderProfileTest
}

func (r *tableReader) read() {
	defaults := r.Node.Get("defaults")
	base := layer(defaults)
	among, findings := base.versions(nil)
	r.Findings = append(r.Findings, findings...)
	profiles := readProfiles(golden.ProfilesFor(filepath.Dir(r.Node.File), r.table.Profiles, r.tester.profiles))
	for i, node := range r.Node.Get("cases").Items() {
		c := &r.table.Cases[i]
		if !r.Begin(node, c.Name) {
			continue
		}
		expected, findings := compileExpectations(c.Expect, "cases["+c.Name.Value+"].expect", profiles)
		r.Findings = append(r.Findings, findings...)
		if len(c.Expect) == 0 && c.Golden == "" {
			r.Findings = append(r.Findings, c.Name.At.Finding("cases["+c.Name.Value+"]", "expects nothing: it has neither expect nor golden"))
		}
		for _, shoot := range r.shootsOf(c) {
			r.cells(c, shoot, expected, among, defaults, r.Node.Get("shoots").Get(shoot), node)
		}
	}
}

// shootsOf returns the names of the shoots of a case, in the order of the document, or one empty name.
func (r *tableReader) shootsOf(c *v1alpha1.TestCase) []string {
	var known []string
	for _, f := range r.Node.Get("shoots").Fields() {
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
			r.Findings = append(r.Findings, name.At.Finding("cases["+c.Name.Value+"].for", "unknown shoot %q%s", name.Value, source.Suggest(name.Value, known)))
			continue
		}
		names = append(names, name.Value)
	}
	return names
}

// maximumCases bounds a table.
const maximumCases = 20000

// cells adds a case for a shoot, once for each version. All versions have the same findings, so it returns those of the
// first.
func (r *tableReader) cells(c *v1alpha1.TestCase, shoot string, expected []expectation, among []string, layers ...source.Node) {
	s := layer(layers...)
	versions, findings := s.versions(among)
	if len(findings) > 0 {
		r.Findings = appendNew(r.Findings, findings)
		return
	}
	if len(r.Cases)+len(versions) > maximumCases {
		r.Findings = appendNew(r.Findings, source.Findings{r.Node.Finding("cases", "with all shoots and versions there are more than %d cases", maximumCases)})
		return
	}
	for _, version := range versions {
		test := &caseTest{setting: s, parameters: s.Parameters, at: c.Name.At.Position(), expected: expected}
		test.profiles = golden.ProfilesFor(filepath.Dir(r.Node.File), r.table.Profiles, r.tester.profiles)
		findings := test.set(c.Name.At, version, "cases["+c.Name.Value+"].")
		if len(findings) > 0 {
			r.Findings = appendNew(r.Findings, findings)
			return
		}
		file := ""
		if test.form = c.Golden; c.Golden != "" {
			file = join(".", golden.Slug(c.Name.Value), golden.Slug(shoot), version) + "." + c.Golden
		}
		if !r.Add(c.Name, join(", ", c.Name.Value, shoot, version), file, test) {
			return
		}
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
func (test *caseTest) set(at source.Node, version, path string) source.Findings {
	var findings source.Findings
	test.input.Options, findings = test.setting.options(version)
	if len(test.setting.Manifests) > 0 {
		test.input.Objects, findings = readManifests(filepath.Dir(test.at.File), test.setting.Manifests, path+"manifests", findings)
	}
	present, more := objects(test.setting.Present, path+"present")
	findings = append(findings, more...)
	test.input.Present = append(test.input.Present, present...)
	test.more, more = objects(test.setting.Objects, path+"objects")
	findings = append(findings, more...)
	test.edits, more = compileEdits(at, test.setting.Edits, path+"edits")
	findings = append(findings, more...)
	test.old, more = compileEdits(at, test.setting.Old, path+"old")
	return append(findings, more...)
}

// setting is a setting after merging the settings that it is based on.
type setting v1alpha1.TestSetting

// ownFields are the fields of a case that are not settings.
var ownFields = []string{"name", "description", "for", "expect", "golden"}

// mergedFields are the fields of settings that are merged instead of replaced. The value is true if a null is kept
// because it has a meaning.
var mergedFields = map[string]bool{"annotations": false, "parameters": false, "shoot": true, "cloudProfile": true, "seed": true}

// layer merges settings; later ones take precedence.
func layer(layers ...source.Node) setting {
	top := layers[len(layers)-1]
	merged := source.Node{Node: &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, File: top.File}
	if top.Node != nil {
		merged.Line, merged.Column = top.Line, top.Column
	}
	for _, one := range layers {
		for _, field := range one.Fields() {
			if !slices.Contains(ownFields, field.Key.Value) {
				keepNull, merges := mergedFields[field.Key.Value]
				put(merged.Node, field, merges, keepNull)
			}
		}
	}
	var s setting
	_ = source.Decode(merged, "", (*v1alpha1.TestSetting)(&s)) // each layer was decoded already
	return s
}

// put sets a member of a mapping, or merges its members into the existing ones. A null removes it unless nulls are
// kept.
func put(into *yaml.Node, field source.Field, merges, keepNull bool) {
	at := -1
	for i := 0; i < len(into.Content); i += 2 {
		if into.Content[i].Value == field.Key.Value {
			at = i
		}
	}
	switch {
	case field.Value.Absent() && !keepNull:
		if at >= 0 {
			into.Content = slices.Delete(slices.Clone(into.Content), at, at+2)
		}
	case at < 0 && !merges || at < 0 && field.Value.Kind != yaml.MappingNode:
		into.Content = append(into.Content, field.Key.Node, field.Value.Node)
	case at >= 0 && (!merges || field.Value.Kind != yaml.MappingNode || into.Content[at+1].Kind != yaml.MappingNode):
		into.Content = slices.Clone(into.Content)
		into.Content[at+1] = field.Value.Node
	default:
		merged := *field.Value.Node
		merged.Content = nil
		if at >= 0 {
			merged.Content = slices.Clone(into.Content[at+1].Content)
			into.Content = slices.Clone(into.Content)
			into.Content[at+1] = &merged
		} else {
			into.Content = append(into.Content, field.Key.Node, &merged)
		}
		for _, inner := range field.Value.Fields() {
			put(&merged, inner, true, keepNull)
		}
	}
}

// generation returns the generation of Gardener.
func (s *setting) generation() contract.Generation {
	if s.Legacy {
		return contract.Labelled
	}
	return contract.Today
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
			findings = append(findings, entry.At.Finding("kubernetes", "%q chooses none of the versions in defaults.kubernetes %v", entry.Value, among))
		}
		versions = append(versions, chosen...)
	}
	if len(versions) == 0 && len(findings) == 0 {
		versions = []string{""}
	}
	return versions, findings
}

// options returns the options of the generated objects for a version.
func (s *setting) options(version string) (snapshot.Options, source.Findings) {
	o := snapshot.Options{
		Kubernetes: version, HighAvailability: s.HighAvailability, IPv6: s.IPv6, Hibernated: s.Hibernated, Workerless: s.Workerless,
		Garden: s.Garden, Legacy: s.Legacy, SNI: s.SNI, Provider: s.Provider, SeedProvider: s.SeedProvider, BackupProvider: s.BackupProvider,
		Annotations: s.Annotations,
	}
	var findings source.Findings
	for _, part := range []struct {
		name string
		from source.Node
		into *json.RawMessage
	}{
		{"infrastructureConfig", s.InfrastructureConfig, &o.InfrastructureConfig}, {"controlPlaneConfig", s.ControlPlaneConfig, &o.ControlPlaneConfig},
		{"workerConfig", s.WorkerConfig, &o.WorkerConfig}, {"cloudProfileConfig", s.CloudProfileConfig, &o.CloudProfileConfig},
		{"seedConfig", s.SeedConfig, &o.SeedConfig}, {"shoot", s.Shoot, &o.Shoot}, {"cloudProfile", s.CloudProfile, &o.CloudProfile},
		{"seed", s.Seed, &o.Seed},
	} {
		if part.from.Absent() {
			continue
		}
		if part.from.Kind != yaml.MappingNode {
			findings = append(findings, part.from.Finding(part.name, "must be a mapping"))
			continue
		}
		raw, err := json.Marshal(comparison.Plain(part.from))
		*part.into, findings = raw, append(findings, source.FindingsOf(part.from, part.name, err)...)
	}
	return o, findings
}

// objects returns the objects in nodes.
func objects(nodes []source.Node, path string) ([]manifest.Object, source.Findings) {
	var (
		all      []manifest.Object
		findings source.Findings
	)
	for i, node := range nodes {
		raw, err := json.Marshal(comparison.Plain(node))
		if err == nil {
			var object manifest.Object
			if object, err = manifest.New(raw, node.Position()); err == nil {
				all = append(all, object)
				continue
			}
		}
		findings = append(findings, node.Finding(fmt.Sprintf("%s[%d]", path, i), "%s", err))
	}
	return all, findings
}

func plainValues(nodes map[string]source.Node) map[string]any {
	values := map[string]any{}
	for name, node := range nodes {
		values[name] = comparison.Plain(node)
	}
	return values
}

// edit changes objects before they are admitted.
type edit struct {
	selector

	at      source.Node
	patch   jsonpatch.Patch
	replace []v1alpha1.TestReplacement
}

// compileEdits compiles edits; of is the default position of their findings.
func compileEdits(of source.Node, written []v1alpha1.TestEdit, path string) ([]edit, source.Findings) {
	var (
		edits    []edit
		findings source.Findings
	)
	for i, w := range written {
		at := fmt.Sprintf("%s[%d]", path, i)
		e := edit{at: w.Of.At, replace: w.Replace}
		if w.Of.At.Node == nil {
			findings = append(findings, of.Finding(at+".of", "is missing: a target, or kind and name such as Deployment/acme"))
			continue
		}
		var more source.Findings
		e.selector, more = compileSelector(w.Of.At, at+".of", w.Of.Value, w.Purposes, false)
		findings = append(findings, more...)
		if len(w.Patch) == 0 && len(w.Replace) == 0 {
			findings = append(findings, w.Of.At.Finding(at, "changes nothing: it has neither patch nor replace"))
		}
		if len(w.Patch) > 0 {
			operations := make([]any, len(w.Patch))
			for j, node := range w.Patch {
				operations[j] = comparison.Plain(node)
			}
			raw, err := json.Marshal(operations)
			if err == nil {
				e.patch, err = jsonpatch.DecodePatch(raw)
			}
			findings = append(findings, source.FindingsOf(w.Patch[0], at+".patch", err)...)
		}
		edits = append(edits, e)
	}
	return edits, findings
}

// apply returns the object with the edit.
func (e *edit) apply(object []byte) ([]byte, error) {
	var err error
	if e.patch != nil {
		if object, err = e.patch.Apply(object); err != nil {
			return nil, err
		}
	}
	if len(e.replace) == 0 {
		return object, nil
	}
	var tree map[string]any
	if err := json.Unmarshal(object, &tree); err != nil {
		return nil, err
	}
	spec, _ := tree["spec"].(map[string]any)
	for _, r := range e.replace {
		if err := replaceText(spec, r); err != nil {
			return nil, err
		}
	}
	return json.Marshal(tree)
}

var errNotThere = errors.New("the text to replace was not found")

// replaceText puts a text into the place of another in the content of a unit or a file.
func replaceText(spec map[string]any, r v1alpha1.TestReplacement) error {
	done := false
	change := func(text string) string {
		done = done || strings.Contains(text, r.Old)
		return strings.Replace(text, r.Old, r.New, 1)
	}
	for _, item := range itemsOf(spec["units"]) {
		if content, ok := item["content"].(string); ok && r.Unit != "" && item["name"] == r.Unit {
			item["content"] = change(content)
		}
	}
	for _, item := range itemsOf(spec["files"]) {
		content, _ := item["content"].(map[string]any)
		inline, ok := content["inline"].(map[string]any)
		if !ok || r.File == "" || item["path"] != r.File {
			continue
		}
		text, _ := inline["data"].(string)
		if inline["encoding"] != "b64" {
			inline["data"] = change(text)
			continue
		}
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return fmt.Errorf("reading the file %s: %w", r.File, err)
		}
		inline["data"] = base64.StdEncoding.EncodeToString([]byte(change(string(decoded))))
	}
	if !done {
		return fmt.Errorf("%w: %q in %s%s", errNotThere, r.Old, r.Unit, r.File)
	}
	return nil
}

func itemsOf(list any) []map[string]any {
	var found []map[string]any
	all, _ := list.([]any)
	for _, item := range all {
		if object, ok := item.(map[string]any); ok {
			found = append(found, object)
		}
	}
	return found
}
