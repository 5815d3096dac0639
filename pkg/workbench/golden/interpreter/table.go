// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter

import (
	"path/filepath"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
)

// answerEnding is the suffix of golden files' names; other files in the folder may contain objects.
const answerEnding = ".answer.yaml"

// Table implements golden.Kind.
func (t *Tester) Table(node source.Node) (golden.Suite, source.Findings) {
	r := tableReader{
		tester: t, node: node, goldens: map[string]string{},
		objects: objects{folder: filepath.Dir(node.File), named: node.Get("objects"), made: map[string][]byte{}},
	}
	r.findings = golden.CheckHead(node, source.Decode(node, "", &r.table))
	if len(r.findings) > 0 {
		return golden.Suite{}, r.findings
	}
	for _, field := range r.objects.named.Fields() {
		_, findings := r.objects.object(field.Value, "objects."+field.Key.Value)
		for _, one := range findings {
			if !slices.Contains(r.findings, one) { // the remaining ones have the same finding
				r.findings = append(r.findings, one)
			}
		}
	}
	if len(r.findings) > 0 {
		return golden.Suite{}, r.findings
	}
	names := golden.Names{}
	for i, at := range node.Get("cases").Items() {
		c := &r.table.Cases[i]
		if wrong := names.Add(at, c.Name); len(wrong) > 0 {
			r.findings = append(r.findings, wrong...)
			continue
		}
		r.add(c)
	}
	held, err := golden.Held(golden.TableFolder(node.File), answerEnding)
	r.findings = append(r.findings, source.FindingsOf(node, "", err)...)
	return golden.Suite{Cases: r.cases, Held: held}, r.findings
}

type tableReader struct {
	tester   *Tester
	node     source.Node
	table    v1alpha1.InterpreterProfileTest
	objects  objects
	cases    []*golden.Case
	findings source.Findings
	// goldens are the cases by the golden files that they hold.
	goldens map[string]string
}

// add adds a case.
func (r *tableReader) add(c *v1alpha1.InterpreterTestCase) {
	path := "cases[" + c.Name.Value + "]."
	tr := &trial{profiles: golden.ProfilesFor(r.objects.folder, r.table.Profiles, r.tester.profiles), gardener: r.table.Gardener, optional: r.table.Optional}
	if object := c.Object; object.Node == nil {
		r.findings = append(r.findings, c.Name.At.Finding(path+"object", "is missing"))
		return
	}
	var findings source.Findings
	tr.object, findings = r.objects.object(c.Object, path+"object")
	if !c.Observed.Absent() {
		observed, more := r.objects.object(c.Observed, path+"observed")
		tr.observed, findings = observed.JSON, append(findings, more...)
	}
	if len(findings) == 0 {
		findings = tr.read(c.Name.At, &c.InterpreterTestQuestion, path, c.Golden)
	}
	wanted, more := newWant(c.Name.At, c.Want, path, c.Golden)
	tr.want, findings = wanted, append(findings, more...)
	added := &golden.Case{Suite: r.node.File, Name: c.Name.Value, Position: c.Name.At.Position(), Test: tr}
	if c.Golden {
		tr.holds = filepath.Join(golden.TableFolder(r.node.File), golden.Slug(c.Name.Value)+answerEnding)
		added.Goldens = []string{tr.holds}
		if other, ok := r.goldens[tr.holds]; ok {
			findings = append(findings, c.Name.At.Finding("cases", "has the golden file %s, as has the case %q", tr.holds, other))
		}
		r.goldens[tr.holds] = c.Name.Value
	}
	if r.findings = append(r.findings, findings...); len(findings) == 0 {
		r.cases = append(r.cases, added)
	}
}
