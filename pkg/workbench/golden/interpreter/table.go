// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/interpret"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// answerEnding is the suffix of golden files' names; other files in the folder may contain objects.
const answerEnding = ".answer.yaml"

// Table implements golden.Kind.
func (t *Tester) Table(node source.Node) *golden.Suite {
	r := tableReader{objects: objects{folder: filepath.Dir(node.File), named: node.Get("objects"), made: map[string][]byte{}}}
	if r.Suite = golden.NewSuite(node, &r.table, t.profiles); len(r.Findings) > 0 {
		return r.Suite
	}
	for _, field := range r.objects.named.Fields() {
		_, findings := r.objects.object(field.Value, "objects."+field.Key.Value)
		r.AddNew(findings)
	}
	if len(r.Findings) == 0 {
		for i := range r.Each {
			r.add(&r.table.Cases[i])
		}
		r.Hold(answerEnding)
	}
	return r.Suite
}

type tableReader struct {
	*golden.Suite

	table   v1alpha1.InterpreterProfileTest
	objects objects
}

// add adds a case.
func (r *tableReader) add(c *v1alpha1.InterpreterTestCase) {
	path := "cases[" + c.Name.Value + "]."
	test := &caseTest{
		asked: asked{at: c.Name.At, golden: c.Golden}, failure: c.Want.Failure, gardener: r.table.Gardener, optional: r.table.Optional,
		profiles: r.Profiles,
	}
	if c.Object.Node == nil {
		r.Findings = append(r.Findings, c.Name.At.Finding(path+"object", "is missing"))
		return
	}
	var findings, more source.Findings
	test.object, findings = r.objects.object(c.Object, path+"object")
	if !c.Observed.Absent() {
		observed, more := r.objects.object(c.Observed, path+"observed")
		test.observed, findings = observed.JSON, append(findings, more...)
	}
	test.parts, more = partsOf(&c.Want, path)
	if findings = append(findings, more...); len(findings) == 0 {
		findings = test.read(&c.InterpreterTestQuestion, path)
	}
	file := ""
	if c.Golden {
		file = golden.Slug(c.Name.Value) + answerEnding
	}
	if r.Findings = append(r.Findings, findings...); len(findings) == 0 {
		r.Add(c.Name, c.Name.Value, file, test)
	}
}

// objects holds the objects of a table by name, and its folder with files.
type objects struct {
	folder string
	named  source.Node
	made   map[string][]byte
	// making are the names that are on their way to an object.
	making []string
}

// fromField is the field of an object that names another one to start from.
const fromField = "from"

// object returns the object of a node: the name of an object, the path of a file, an object based on another one, or an
// object.
func (o *objects) object(n source.Node, path string) (manifest.Object, source.Findings) {
	raw, findings := o.raw(n, path)
	if len(findings) > 0 {
		return manifest.Object{}, findings
	}
	object, err := manifest.New(raw, n.Position())
	if err != nil {
		return manifest.Object{}, source.Findings{n.Finding(path, "%s", err)}
	}
	return object, nil
}

func (o *objects) raw(n source.Node, path string) ([]byte, source.Findings) {
	switch {
	case n.Absent():
		return nil, source.Findings{n.Finding(path, "is missing")}
	case n.Kind == yaml.ScalarNode:
		return o.called(n, path)
	case n.Kind != yaml.MappingNode:
		return nil, source.Findings{n.Finding(path, "must be an object, the name of one of objects, or the path of a file")}
	}
	raw, err := golden.JSON(n)
	if from := n.Get(fromField); from.Node != nil && err == nil {
		base, findings := o.called(from, path+"."+fromField)
		if len(findings) > 0 {
			return nil, findings
		}
		raw, err = mergeWithoutFrom(base, raw)
	}
	return raw, source.FindingsOf(n, path, err)
}

// mergeWithoutFrom returns an object with the members of another one, except for the name of the object itself. It fails if one of
// them is not a JSON object.
func mergeWithoutFrom(object, members []byte) ([]byte, error) {
	var over map[string]json.RawMessage
	if err := json.Unmarshal(members, &over); err != nil {
		return nil, err
	}
	delete(over, fromField)
	raw, err := json.Marshal(over)
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(object, raw)
}

// called returns the object with a name, or in a file.
func (o *objects) called(n source.Node, path string) ([]byte, source.Findings) {
	name := n.Value
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		return nil, source.Findings{n.Finding(path, "must be the name of one of objects, or the path of a file")}
	}
	if known := o.made[name]; known != nil {
		return known, nil
	}
	if !o.named.Has(name) {
		return o.file(n, path)
	}
	if slices.Contains(o.making, name) {
		return nil, source.Findings{n.Finding(path, "is based on itself: %s", strings.Join(append(o.making, name), " → "))}
	}
	o.making = append(o.making, name)
	defer func() { o.making = o.making[:len(o.making)-1] }()
	raw, findings := o.raw(o.named.Get(name), "objects."+name)
	if len(findings) == 0 {
		o.made[name] = raw
	}
	return raw, findings
}

// file returns the single object of a file.
func (o *objects) file(n source.Node, path string) ([]byte, source.Findings) {
	name := filepath.Join(o.folder, filepath.FromSlash(n.Value))
	found, err := manifest.ReadWith(name, golden.Read)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		var known []string
		for _, field := range o.named.Fields() {
			known = append(known, field.Key.Value)
		}
		return nil, source.Findings{n.Finding(path, "there is neither an object %q%s nor such a file", n.Value, source.Suggest(n.Value, known))}
	case err != nil:
		return nil, source.FindingsOf(n, path, err)
	case len(found) != 1:
		return nil, source.Findings{n.Finding(path, "%s has %d objects, and must have one", n.Value, len(found))}
	}
	return found[0].JSON, nil
}

// asked holds the inputs of a case, and the wanted parts of the answers.
type asked struct {
	at         source.Node
	object     manifest.Object
	observed   json.RawMessage
	replicas   *int32
	members    []interpreter.Member
	hasMembers bool
	// operations is empty to request all operations with rules.
	operations []interpreter.Operation
	parts      []part
	// golden means that a golden file contains the remaining results.
	golden bool
}

// kind returns the kind of the object.
func (a *asked) kind() interpreter.Kind {
	return interpreter.KindOf(a.object.APIVersion, a.object.Kind)
}

// read reads the question of a case; the objects and the wanted parts were read before.
func (a *asked) read(q *v1alpha1.InterpreterTestQuestion, path string) source.Findings {
	var findings source.Findings
	a.replicas, a.hasMembers = q.Replicas, q.Members != nil
	for _, cluster := range slices.Sorted(maps.Keys(q.Members)) {
		member, more := interpret.MemberOf(cluster, q.Members[cluster], path+"members."+cluster)
		a.members, findings = append(a.members, member), append(findings, more...)
	}
	for _, text := range q.Operation {
		switch operation := interpreter.Operation(text.Value); {
		case !operation.Known():
			known := make([]string, 0, len(interpreter.Operations()))
			for _, o := range interpreter.Operations() {
				known = append(known, string(o))
			}
			findings = append(findings, text.At.Finding(path+"operation", "unknown operation %q%s: must be one of %s", text.Value,
				source.Suggest(text.Value, known), strings.Join(known, ", ")))
		case slices.Contains(a.operations, operation):
			findings = append(findings, text.At.Finding(path+"operation", "%s occurs twice", text.Value))
		default:
			a.operations = append(a.operations, operation)
		}
	}
	if len(findings) == 0 && len(q.Operation) == 0 && !a.infer(q.Want.Failure != nil) {
		findings = source.Findings{a.at.Finding(strings.TrimSuffix(path, "."), "operation is missing")}
	}
	if len(findings) > 0 {
		return findings
	}
	for _, o := range a.operations {
		if lacks := a.lacks(o); lacks != "" {
			findings = append(findings, a.at.Finding(path+lacks, "is missing: %s needs it", o))
		}
	}
	return append(findings, a.unwanted(q.Want.Failure != nil, path)...)
}

// infer derives the operations from the expected results and the inputs: none if nothing is expected. It reports false
// if there are several possible ones.
func (a *asked) infer(fails bool) bool {
	changes := false
	for _, part := range a.parts {
		switch {
		case len(part.of) > 1:
			changes = true
		case !slices.Contains(a.operations, part.of[0]):
			a.operations = append(a.operations, part.of[0])
		}
	}
	if !changes && (!fails || len(a.operations) > 0) {
		return true
	}
	var possible []interpreter.Operation
	for operation, given := range map[interpreter.Operation]bool{
		interpreter.Retain: a.observed != nil, interpreter.Revise: a.replicas != nil, interpreter.Aggregate: a.hasMembers,
	} {
		if given {
			possible = append(possible, operation)
		}
	}
	a.operations = append(a.operations, possible...)
	return len(possible) == 1
}

// lacks returns the missing input of an operation, or an empty string. Members may be missing.
func (a *asked) lacks(o interpreter.Operation) string {
	switch {
	case o == interpreter.Retain && a.observed == nil:
		return "observed"
	case o == interpreter.Revise && a.replicas == nil:
		return "replicas"
	}
	return ""
}

// unwanted reports operations without expected results, and expected results without their operation.
func (a *asked) unwanted(fails bool, path string) source.Findings {
	var findings source.Findings
	met := map[interpreter.Operation]bool{}
	for _, part := range a.parts {
		asks := slices.DeleteFunc(slices.Clone(part.of), func(o interpreter.Operation) bool { return !slices.Contains(a.operations, o) })
		var message string
		switch {
		case fails:
			message = "a failed answer has no other expectations"
		case len(asks) == 0:
			message = "is not an answer to this operation"
		case len(asks) > 1:
			message = "could be of several operations that are asked: write a case for each"
		default:
			met[asks[0]] = true
			continue
		}
		findings = append(findings, part.wanted.Finding(path+"want."+part.name, "%s", message))
	}
	if fails || a.golden || len(findings) > 0 {
		return findings
	}
	for _, o := range a.operations {
		if !met[o] {
			findings = append(findings, a.at.Finding(path+"want", "wants nothing of %s", o))
		}
	}
	if len(a.operations) == 0 {
		findings = append(findings, a.at.Finding(strings.TrimSuffix(path, "."), "wants nothing: it has neither want nor a golden file"))
	}
	return findings
}

// request returns the request for an operation.
func (a *asked) request(o interpreter.Operation) interpreter.Request {
	r := interpreter.Request{Operation: o, Kind: a.kind(), Object: a.object.JSON}
	switch o {
	case interpreter.Retain:
		r.Observed = a.observed
	case interpreter.Aggregate:
		r.Members = a.members
	case interpreter.Revise:
		r.Replicas = *a.replicas
	}
	return r
}
