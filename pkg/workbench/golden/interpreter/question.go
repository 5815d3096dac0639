// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/comparison"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// asked holds the inputs of a case.
type asked struct {
	object     manifest.Object
	observed   json.RawMessage
	replicas   *int32
	members    []interpreter.Member
	hasMembers bool
	// operations is empty to request all operations with rules.
	operations []interpreter.Operation
}

// kind returns the kind of the object.
func (a *asked) kind() interpreter.Kind {
	return interpreter.KindOf(a.object.APIVersion, a.object.Kind)
}

// read reads the question of a case; the objects were read before.
func (a *asked) read(at source.Node, q *v1alpha1.InterpreterTestQuestion, path string, golden bool) source.Findings {
	a.replicas, a.hasMembers = q.Replicas, q.Members != nil
	findings := a.readMembers(q.Members, path)
	for i, text := range q.Operation {
		operation := interpreter.Operation(text.Value)
		if !operation.Known() {
			known := make([]string, 0, len(interpreter.Operations()))
			for _, o := range interpreter.Operations() {
				known = append(known, string(o))
			}
			findings = append(findings, text.At.Finding(path+"operation", "unknown operation %q%s: must be one of %s", text.Value,
				source.Suggest(text.Value, known), strings.Join(known, ", ")))
			continue
		}
		if slices.Contains(a.operations, operation) {
			findings = append(findings, text.At.Finding(path+"operation", "%s stands twice", q.Operation[i].Value))
			continue
		}
		a.operations = append(a.operations, operation)
	}
	if len(findings) > 0 {
		return findings
	}
	if len(q.Operation) == 0 {
		findings = a.infer(at, &q.Want, path)
	}
	if len(findings) > 0 {
		return findings
	}
	return append(a.lacking(at, path), a.unwanted(at, &q.Want, path, golden)...)
}

func (a *asked) readMembers(members map[string]v1alpha1.InterpreterTestMember, path string) source.Findings {
	var findings source.Findings
	for _, cluster := range slices.Sorted(maps.Keys(members)) {
		m := members[cluster]
		member := interpreter.Member{Cluster: cluster, Applied: m.Applied == nil || *m.Applied, Message: m.Message, Health: m.Health}
		if !m.Status.Absent() {
			raw, err := comparison.JSON(m.Status)
			member.Status = raw
			findings = append(findings, source.FindingsOf(m.Status, path+"members."+cluster+".status", err)...)
		}
		a.members = append(a.members, member)
	}
	return findings
}

// infer derives the operations from the expected results and the inputs. It derives none if nothing is expected.
func (a *asked) infer(at source.Node, w *v1alpha1.InterpreterTestWant, path string) source.Findings {
	change := false
	for _, part := range allParts(w) {
		switch {
		case part.wanted.Node == nil:
		case len(part.of) > 1:
			change = true
		case !slices.Contains(a.operations, part.of[0]):
			a.operations = append(a.operations, part.of[0])
		}
	}
	if !change && (w.Failure == nil || len(a.operations) > 0) {
		return nil
	}
	var possible []interpreter.Operation
	for operation, given := range map[interpreter.Operation]bool{
		interpreter.Retain: a.observed != nil, interpreter.Revise: a.replicas != nil, interpreter.Aggregate: a.hasMembers,
	} {
		if given {
			possible = append(possible, operation)
		}
	}
	if len(possible) != 1 {
		return source.Findings{at.Finding(strings.TrimSuffix(path, "."), "operation is missing")}
	}
	a.operations = append(a.operations, possible[0])
	return nil
}

// lacking finds operations that cannot be asked.
func (a *asked) lacking(at source.Node, path string) source.Findings {
	var findings source.Findings
	for _, o := range a.operations {
		if lacks := a.lacks(o); lacks != "" {
			findings = append(findings, at.Finding(path+lacks, "is missing: %s needs it", o))
		}
	}
	return findings
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
func (a *asked) unwanted(at source.Node, w *v1alpha1.InterpreterTestWant, path string, golden bool) source.Findings {
	var findings source.Findings
	met := map[interpreter.Operation]bool{}
	for _, part := range allParts(w) {
		if part.wanted.Node == nil {
			continue
		}
		asks := slices.DeleteFunc(slices.Clone(part.of), func(o interpreter.Operation) bool { return !slices.Contains(a.operations, o) })
		switch {
		case w.Failure != nil:
			findings = append(findings, part.wanted.Finding(path+"want."+part.name, "nothing more can be wanted of an answer that is a failure"))
		case len(asks) == 0:
			findings = append(findings, part.wanted.Finding(path+"want."+part.name, "is no part of what is asked"))
		case len(asks) > 1:
			findings = append(findings, part.wanted.Finding(path+"want."+part.name, "could be of several operations that are asked: write a case for each"))
		default:
			met[asks[0]] = true
		}
	}
	for _, o := range a.operations {
		if !met[o] && w.Failure == nil && !golden && len(findings) == 0 {
			findings = append(findings, at.Finding(path+"want", "wants nothing of %s", o))
		}
	}
	if len(a.operations) == 0 && !golden && len(findings) == 0 {
		findings = append(findings, at.Finding(strings.TrimSuffix(path, "."), "wants nothing: it has neither want nor a golden file"))
	}
	return findings
}

// allParts returns the parts of answers, with the fields of objects as one.
func allParts(w *v1alpha1.InterpreterTestWant) []part {
	fields := part{name: "fields", of: edits}
	for _, node := range w.Fields {
		if fields.wanted.Node == nil || node.Position().Before(fields.wanted.Position()) {
			fields.wanted = node
		}
	}
	return append(parts(w), fields)
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
