// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package interpret sends the requests that Karmada sends about objects, and displays the answers: of rules in the same
// process, or of webhooks.
//
// It uses no rules and no flags; the caller provides the interpreter. Start reading at Run, then at Write and
// Document.
package interpret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// Interpreter answers requests, such as a rule.Program. It fails if there is no rule or no answer.
type Interpreter interface {
	Interpret(ctx context.Context, r interpreter.Request) (interpreter.Response, error)
}

// Options are the settings of a run.
type Options struct {
	By Interpreter
	// Operations are the requested operations; if empty, all operations with an interpreter and the required input.
	Operations []interpreter.Operation
	// Asks reports whether an operation of an object has an interpreter. It is used if no operations are given.
	Asks func(kind interpreter.Kind, object []byte, o interpreter.Operation) bool
	// Observed are objects of members, which Retain compares with; they belong to objects of the same kind and name.
	Observed []manifest.Object
	// Replicas is the number for Revise, or nil.
	Replicas *int32
	// Members are the members for Aggregate; nil if there are none.
	Members []interpreter.Member
}

// Document is the output in the format json; docs/usage/output.md describes it. Fields may be added, but their meaning does
// not change within a version.
type Document struct {
	// APIVersion is the apiVersion of profiles; Kind is Interpretation.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Objects lists all objects in the order of the input.
	Objects []Result `json:"objects"`
}

// DocumentOf returns the answers as a document.
func DocumentOf(results []Result) Document {
	return Document{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Interpretation", Objects: results}
}

// Result holds the answers about an object.
type Result struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace,omitempty"`
	Name       string   `json:"name"`
	Answers    []Answer `json:"answers"`

	object manifest.Object
}

// Answer is the answer to one question, or the reason for its absence.
type Answer struct {
	Operation interpreter.Operation `json:"operation"`
	// Changed reports, for an operation with a patch as its answer, whether the object changes.
	Changed *bool `json:"changed,omitempty"`
	interpreter.Response
	// Lacks names the missing input, for which the question was not asked.
	Lacks string `json:"lacks,omitempty"`
	// Error explains why there is no answer.
	Error *Error `json:"error,omitempty"`

	// after is the object as a patch has made it, as JSON; nil where the operation has no patches.
	after []byte
}

// Error is why there is no answer.
type Error struct {
	// Code is an HTTP status code: that of the *interpreter.Failure, or absent.
	Code    int    `json:"code,omitempty"`
	Message string `json:"message"`
}

// Failed returns the number of requests without an answer.
func Failed(results []Result) int {
	count := 0
	for _, r := range results {
		for _, a := range r.Answers {
			if a.Error != nil {
				count++
			}
		}
	}
	return count
}

// Run sends the requests about an object. It fails for invalid input; the failure of a request is part of its answer.
func Run(ctx context.Context, object manifest.Object, o Options) (Result, error) {
	result := Result{
		APIVersion: object.APIVersion, Kind: object.Kind, Namespace: object.Namespace, Name: object.Name, Answers: []Answer{}, object: object,
	}
	of := interpreter.KindOf(object.APIVersion, object.Kind)
	operations := o.Operations
	if len(operations) == 0 {
		operations = slices.DeleteFunc(interpreter.Operations(), func(one interpreter.Operation) bool { return !o.Asks(of, object.JSON, one) })
	}
	for _, operation := range operations {
		r := interpreter.Request{Operation: operation, Kind: of, Object: object.JSON}
		lacks := o.fill(&r, object)
		switch {
		case lacks != "" && len(o.Operations) > 0:
			return result, fmt.Errorf("%s of %s needs %s", operation, object, lacks)
		case lacks != "":
			result.Answers = append(result.Answers, Answer{Operation: operation, Lacks: lacks})
		default:
			result.Answers = append(result.Answers, o.ask(ctx, r))
		}
		if ctx.Err() != nil {
			return result, ctx.Err()
		}
	}
	if len(o.Operations) == 0 {
		result.Answers = known(result.Answers)
	}
	return result, nil
}

// known returns the answers without those of webhooks that do not know an operation, if another webhook does.
func known(all []Answer) []Answer {
	unknown := func(a Answer) bool { return a.Error != nil && a.Error.Code == interpreter.CodeUnknown }
	if !slices.ContainsFunc(all, func(a Answer) bool { return a.Lacks == "" && !unknown(a) }) {
		return all
	}
	return slices.DeleteFunc(all, unknown)
}

// fill adds further inputs of the operation to the object, and returns the name of a missing one.
func (o Options) fill(r *interpreter.Request, object manifest.Object) (lacks string) {
	switch r.Operation {
	case interpreter.Revise:
		if o.Replicas == nil {
			return "--replicas"
		}
		r.Replicas = *o.Replicas
	case interpreter.Aggregate:
		if o.Members == nil {
			return "--members"
		}
		r.Members = o.Members
	case interpreter.Retain:
		at := slices.IndexFunc(o.Observed, func(other manifest.Object) bool { return observes(other, object) })
		if at < 0 && len(o.Observed) > 0 {
			return "an observed object of its kind and name"
		}
		if at < 0 {
			return "--observed"
		}
		r.Observed = o.Observed[at].JSON
	}
	return ""
}

// observes reports whether an observed object is the member's copy of an object.
func observes(other, object manifest.Object) bool {
	return other.Is(object.Group(), object.Kind) && other.Name == object.Name && (other.Namespace == object.Namespace || other.Namespace == "")
}

// Check returns an error if no observed object belongs to one of the objects. Those of a whole member cluster may
// include further objects.
func (o Options) Check(objects []manifest.Object) error {
	if len(o.Observed) == 0 {
		return nil
	}
	for _, other := range o.Observed {
		if slices.ContainsFunc(objects, func(object manifest.Object) bool { return observes(other, object) }) {
			return nil
		}
	}
	return fmt.Errorf("none of the observed objects has the group, kind, namespace and name of an object that is asked about: the first is %s, at %s",
		o.Observed[0], o.Observed[0].Position)
}

func (o Options) ask(ctx context.Context, r interpreter.Request) Answer {
	response, err := o.By.Interpret(ctx, r)
	a := Answer{Operation: r.Operation, Response: response}
	if err == nil && r.Operation.Patches() {
		changed := len(response.Patch) > 0
		a.Changed = &changed
		a.after, err = Patched(r.Object, response.Patch)
	}
	if err != nil {
		a = Answer{Operation: r.Operation, Error: &Error{Message: err.Error()}}
		if failure, ok := errors.AsType[*interpreter.Failure](err); ok {
			a.Error.Code = failure.Code
		}
	}
	return a
}

// Patched applies a patch (RFC 6902) to an object as Karmada does. It returns the object unchanged if the patch is
// empty. It fails if the patch is invalid or does not fit the object.
func Patched(object, patch []byte) ([]byte, error) {
	if len(bytes.TrimSpace(patch)) == 0 {
		return object, nil
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, fmt.Errorf("reading the patch: %w", err)
	}
	after, err := decoded.Apply(object)
	if err != nil {
		return nil, fmt.Errorf("applying the patch: %w", err)
	}
	return after, nil
}

// plural counts something in words.
func plural(count int, one, many string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", count, many)
}

// indented returns a text with each of its lines indented.
func indented(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+by) + "\n"
}

// ParseMembers parses a mapping of clusters to an object's state in them: status, applied, message and health, as in
// tests. It sorts them by the names of the clusters. The mapping may be empty. The error is source.Findings.
func ParseMembers(file source.File) ([]interpreter.Member, error) {
	nodes, findings := source.Parse(file)
	if len(findings) > 0 {
		return nil, findings
	}
	if len(nodes) == 0 {
		return []interpreter.Member{}, nil
	}
	if len(nodes) > 1 {
		return nil, source.Findings{nodes[1].Finding("", "a second document: write the answers of members as one mapping")}
	}
	root := nodes[0]
	if root.Kind != yaml.MappingNode && !root.Absent() {
		return nil, source.Findings{root.Finding("", "must be a mapping of clusters to status, applied, message and health")}
	}
	said := map[string]v1alpha1.InterpreterTestMember{}
	findings = source.Decode(root, "", &said)
	members := make([]interpreter.Member, 0, len(said))
	for _, cluster := range slices.Sorted(maps.Keys(said)) {
		m, at := said[cluster], root.Get(cluster)
		if cluster == "" {
			findings = append(findings, at.Finding("", "a cluster must have a name"))
		}
		if !m.Status.Absent() && m.Status.Kind != yaml.MappingNode {
			findings = append(findings, m.Status.Finding(cluster+".status", "must be a mapping"))
			continue
		}
		member, more := MemberOf(cluster, m, cluster)
		members, findings = append(members, member), append(findings, more...)
	}
	if len(findings) > 0 {
		findings.Sort()
		return nil, findings
	}
	return members, nil
}

// MemberOf returns the state of an object in a cluster, as a test has it at a path.
func MemberOf(cluster string, m v1alpha1.InterpreterTestMember, path string) (interpreter.Member, source.Findings) {
	member := interpreter.Member{Cluster: cluster, Applied: m.Applied == nil || *m.Applied, Message: m.Message, Health: m.Health}
	if m.Status.Absent() {
		return member, nil
	}
	raw, err := golden.JSON(m.Status)
	member.Status = raw
	return member, source.FindingsOf(m.Status, path+".status", err)
}
