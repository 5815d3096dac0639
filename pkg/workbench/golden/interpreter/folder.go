// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter

import (
	"os"
	"path/filepath"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
)

// observedFile is the object as the member cluster has it.
const observedFile = "observed.yaml"

// Folder implements golden.Kind: the case in a folder, which is in.yaml, maybe observed.yaml, and what case.yaml says. Where that wants nothing, or
// want.yaml is there, it holds the whole answer.
func (t *Tester) Folder(path string) (golden.Suite, source.Findings) {
	var written v1alpha1.InterpreterTestFolder
	node, findings := golden.ReadCase(path, &written)
	if len(findings) > 0 {
		return golden.Suite{}, findings
	}
	tr := &trial{profiles: golden.ProfilesFor(path, written.Profiles, t.profiles), gardener: written.Gardener, optional: written.Optional}
	beside := objects{folder: path}
	in, there, err := beside.beside(golden.InFile)
	if err == nil && !there {
		err = source.Findings{node.Finding("", "the folder has no %s, which has the object that is asked about", golden.InFile)}
	}
	tr.object = in
	findings = append(findings, source.FindingsOf(node, "", err)...)
	observed, _, err := beside.beside(observedFile)
	tr.observed = observed.JSON
	findings = append(findings, source.FindingsOf(node, "", err)...)
	golds := filepath.Join(path, golden.WantFile)
	_, missing := os.Stat(golds)
	holds := missing == nil || !node.Has("want")
	wanted, more := newWant(node, written.Want, "", holds)
	tr.want, findings = wanted, append(findings, more...)
	if len(findings) == 0 {
		findings = tr.read(node, &written.InterpreterTestQuestion, "", holds)
	}
	if len(findings) > 0 {
		return golden.Suite{}, findings
	}
	c := &golden.Case{Suite: filepath.Dir(path), Name: filepath.Base(path), Position: node.Position(), Test: tr}
	suite := golden.Suite{Cases: []*golden.Case{c}}
	if holds {
		tr.holds = golds
		c.Goldens = []string{golds}
	}
	if missing == nil {
		suite.Held = []string{golds}
	}
	return suite, nil
}
