// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/interpret"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// answerEnding is the suffix of golden files' names; other files in the folder may contain objects.
const answerEnding = ".answer.yaml"

// Table implements golden.Tester.
func (t *Tester) Table(node source.Node) *golden.Suite {
	var table v1alpha1.InterpreterProfileTest
	suite := golden.NewSuite(node, t.Name(), &table, t.profiles)
	if len(suite.Findings) > 0 {
		return suite
	}
	named := &objects{folder: filepath.Dir(node.File), named: node.Get("objects")}
	for _, field := range named.named.Fields() {
		_, findings := named.object(field.Value, "objects."+field.Key.Value)
		suite.AddNew(findings)
	}
	if len(suite.Findings) > 0 {
		return suite
	}
	optional := make([]string, len(table.Optional))
	for i, name := range table.Optional {
		optional[i] = name.Value
	}
	program := t.programs.Once(fmt.Sprintf("%t %q %q", table.Gardener, optional, suite.Profiles), func() (*compiledProfiles, error) {
		return newProgram(suite.Profiles, table.Gardener || len(optional) > 0, optional)
	})
	for i, written := range suite.Each {
		c := &table.Cases[i]
		test := &caseTest{at: c.Name.At, want: written.Get("want"), failure: c.Want.Failure, golden: c.Golden}
		test.program = program
		findings := test.read(c, named, "cases["+c.Name.Value+"]")
		if suite.Findings = append(suite.Findings, findings...); len(findings) > 0 {
			continue
		}
		file := ""
		if c.Golden {
			file = golden.Slug(c.Name.Value) + answerEnding
		}
		suite.Add(c.Name, c.Name.Value, file, test)
	}
	suite.Hold(answerEnding)
	return suite
}

// objects holds the objects of a table by name, and its folder with files.
type objects struct {
	folder string
	named  source.Node
	// making are the names that are on their way to an object.
	making []string
}

// fromField is the field of an object that names another one to start from.
const fromField = "from"

// object returns the object of a node: the name of an object, the path of a file, an object based on another one, or an
// object.
func (o *objects) object(n source.Node, path string) (manifest.Object, source.Findings) {
	var object manifest.Object
	raw, err := o.raw(n, path)
	if err == nil {
		object, err = manifest.New(raw, n.Position())
	}
	return object, source.FindingsOf(n, path, err)
}

// raw returns the object as JSON. The error is a source.Finding if it is not about the node itself.
func (o *objects) raw(n source.Node, path string) ([]byte, error) {
	switch {
	case n.Absent():
		return nil, n.Finding(path, "is missing")
	case n.Kind == yaml.ScalarNode && n.Tag == "!!str":
		return o.called(n, path)
	case n.Kind != yaml.MappingNode:
		return nil, n.Finding(path, "must be an object, the name of one of objects, or the path of a file")
	case !n.Has(fromField):
		return golden.JSON(n)
	}
	base, err := o.raw(n.Get(fromField), path+"."+fromField)
	if err != nil {
		return nil, err
	}
	var members map[string]any
	if err := n.Decode(&members); err != nil {
		return nil, err
	}
	delete(members, fromField) // the base may have a field of this name
	raw, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(base, raw)
}

// called returns the object with a name, or the single one in a file.
func (o *objects) called(n source.Node, path string) ([]byte, error) {
	name := n.Value
	if o.named.Has(name) {
		if slices.Contains(o.making, name) {
			return nil, n.Finding(path, "is based on itself: %s", strings.Join(append(o.making, name), " → "))
		}
		o.making = append(o.making, name)
		defer func() { o.making = o.making[:len(o.making)-1] }()
		return o.raw(o.named.Get(name), "objects."+name)
	}
	found, err := manifest.ReadWith(filepath.Join(o.folder, filepath.FromSlash(name)), golden.Read)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		var known []string
		for _, field := range o.named.Fields() {
			known = append(known, field.Key.Value)
		}
		return nil, n.Finding(path, "there is neither an object %q%s nor such a file", name, source.Suggest(name, known))
	case err != nil:
		return nil, err
	case len(found) != 1:
		return nil, n.Finding(path, "%s has %d objects, and must have one", name, len(found))
	}
	return found[0].JSON, nil
}

// edits are the operations that change objects.
var edits = slices.DeleteFunc(interpreter.Operations(), func(o interpreter.Operation) bool { return !o.Patches() })

// answers maps the fields of v1alpha1.InterpreterTestWant to the operations with this part in their answers. To add one: a
// field there, a line here, and the value in written.
var answers = map[string][]interpreter.Operation{
	"replicas": {interpreter.Replicas}, "requirements": {interpreter.Replicas}, "components": {interpreter.Components},
	"dependencies": {interpreter.Dependencies}, "status": {interpreter.Status}, "healthy": {interpreter.Health},
	"object": edits, "fields": edits, "patch": edits,
}

// read reads the inputs and the operations of a case.
func (test *caseTest) read(c *v1alpha1.InterpreterTestCase, named *objects, path string) source.Findings {
	if c.Object.Node == nil {
		return source.Findings{test.at.Finding(path+".object", "is missing")}
	}
	var findings source.Findings
	test.object, findings = named.object(c.Object, path+".object")
	if !c.Observed.Absent() {
		observed, more := named.object(c.Observed, path+".observed")
		test.observed, findings = observed.JSON, append(findings, more...)
	}
	test.replicas = c.Replicas
	for _, cluster := range slices.Sorted(maps.Keys(c.Members)) {
		member, more := interpret.MemberOf(cluster, c.Members[cluster], path+".members."+cluster)
		test.members, findings = append(test.members, member), append(findings, more...)
	}
	for _, f := range test.want.Get("fields").Fields() {
		if _, err := fieldpath.Parse(f.Key.Value); err != nil {
			findings = append(findings, f.Value.Finding(path+".want.fields", "%q is not a path: %s", f.Key.Value, err))
		}
	}
	var known []string
	for _, o := range interpreter.Operations() {
		known = append(known, string(o))
	}
	if len(c.Operation) == 0 {
		findings = append(findings, test.at.Finding(path+".operation", "is missing: one or several of %s", strings.Join(known, ", ")))
	}
	for _, text := range c.Operation {
		switch operation := interpreter.Operation(text.Value); {
		case !operation.Known():
			findings = append(findings, text.At.Finding(path+".operation", "unknown operation %q%s: must be one of %s", text.Value,
				source.Suggest(text.Value, known), strings.Join(known, ", ")))
		case slices.Contains(test.operations, operation):
			findings = append(findings, text.At.Finding(path+".operation", "%s occurs twice", text.Value))
		case operation == interpreter.Retain && test.observed == nil:
			findings = append(findings, test.at.Finding(path+".observed", "is missing: %s needs it", operation))
		case operation == interpreter.Revise && test.replicas == nil:
			findings = append(findings, test.at.Finding(path+".replicas", "is missing: %s needs it", operation))
		default:
			test.operations = append(test.operations, operation)
		}
	}
	if len(findings) == 0 {
		findings = test.plan(path)
	}
	return findings
}

// plan finds the operation of each expected part among the operations of the case.
func (test *caseTest) plan(path string) source.Findings {
	var findings source.Findings
	test.wanted = map[interpreter.Operation]bool{}
	for _, f := range test.want.Fields() {
		at := path + ".want." + f.Key.Value
		of := slices.DeleteFunc(slices.Clone(answers[f.Key.Value]), func(o interpreter.Operation) bool { return !slices.Contains(test.operations, o) })
		switch {
		case f.Key.Value == "failure":
		case test.failure != nil:
			findings = append(findings, f.Value.Finding(at, "a failed answer has no other expectations"))
		case len(of) == 0:
			findings = append(findings, f.Value.Finding(at, "is not an answer to this operation"))
		case len(of) > 1:
			findings = append(findings, f.Value.Finding(at, "could be of several operations that are asked: write a case for each"))
		default:
			test.wanted[of[0]] = true
		}
	}
	if test.failure != nil || test.golden || len(findings) > 0 {
		return findings
	}
	for _, o := range test.operations {
		if !test.wanted[o] {
			findings = append(findings, test.at.Finding(path+".want", "wants nothing of %s", o))
		}
	}
	return findings
}
