// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// asked is a question as the files of testdata/answers write it. Raw is an object that no YAML can write.
type asked struct {
	Name      string
	Operation interpreter.Operation
	Kind      *interpreter.Kind
	Object    json.RawMessage
	Observed  json.RawMessage
	Raw       string
	Replicas  int32
	Members   []interpreter.Member
}

// request is the question, by default of a Queue of acme.com/v1.
func (a asked) request() interpreter.Request {
	r := interpreter.Request{
		Operation: a.Operation, Kind: interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}, Object: a.Object, Observed: a.Observed,
		Replicas: a.Replicas, Members: a.Members,
	}
	if a.Kind != nil {
		r.Kind = *a.Kind
	}
	if a.Raw != "" {
		r.Object = json.RawMessage(a.Raw)
	}
	return r
}

// load compiles a valid profile.
func load(t testing.TB, files ...source.File) *rule.Program {
	t.Helper()
	documents, findings := profile.LoadInterpreters(files...)
	program, more := rule.Compile(documents)
	findings = slices.DeleteFunc(append(findings, more...), func(f source.Finding) bool { return f.Rule == rule.ComponentsRevised })
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	return program
}

// TestAnswers compares the answers to the questions of testdata/answers with want.txt.
func TestAnswers(t *testing.T) {
	folders, err := filepath.Glob("testdata/answers/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no test cases found: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			program := load(t, golden.Read(t, filepath.Join(folder, "profile.yaml")))
			var out strings.Builder
			for _, a := range questions(t, folder) {
				response, err := program.Interpret(context.Background(), a.request())
				out.WriteString("## " + a.Name + "\n" + describe(response, err))
				checkResponse(t, a.request(), response, err)
			}
			golden.Compare(t, filepath.Join(folder, "want.txt"), out.String())
		})
	}
}

// TestDuplicateMemberIsAnError checks that a member that is listed twice is an error.
func TestDuplicateMemberIsAnError(t *testing.T) {
	program := load(t, golden.Read(t, "testdata/answers/aggregate/profile.yaml"))
	a := asked{Operation: interpreter.Aggregate, Object: json.RawMessage(`{"metadata":{"generation":1}}`)}
	for _, cluster := range []string{"c", "a", "b", "a"} {
		a.Members = append(a.Members, interpreter.Member{Cluster: cluster, Status: json.RawMessage(`{"replicas":1}`)})
		response, err := program.Interpret(context.Background(), a.request())
		if len(a.Members) < 4 {
			if err != nil || response.Patch == nil {
				t.Errorf("%d members: %v", len(a.Members), err)
			}
			continue
		}
		if got := describe(response, err); got != "422 the member a is listed twice\n" {
			t.Errorf("a member that occurs twice: %s", got)
		}
	}
}

// TestIndex checks that an index of the whole message gives the same answers, also in repetitions.
func TestIndex(t *testing.T) {
	for folder, program := range programs(t) {
		for _, a := range questions(t, folder) {
			r := a.request()
			parts := map[string]json.RawMessage{"object": r.Object, "observed": r.Observed}
			for _, m := range r.Members {
				parts["of "+m.Cluster] = m.Status
			}
			for name, raw := range parts {
				if !json.Valid(raw) {
					delete(parts, name)
				}
			}
			message, err := document.Parse(marshal(t, parts))
			if err != nil {
				t.Fatal(err)
			}
			want, wantErr := program.Interpret(context.Background(), r)
			r.ObjectNode, r.ObservedNode = message.Root().Get("object"), message.Root().Get("observed")
			r.Members = slices.Clone(r.Members)
			for i := range r.Members {
				r.Members[i].StatusNode = message.Root().Get("of " + r.Members[i].Cluster)
			}
			for range 2 {
				if got, err := program.Interpret(context.Background(), r); describe(got, err) != describe(want, wantErr) {
					t.Errorf("%s: %s: got %s, want %s", folder, a.Name, describe(got, err), describe(want, wantErr))
				}
			}
			if message.Changed() {
				t.Errorf("%s: %s: the message was changed", folder, a.Name)
			}
			message.Release()
		}
	}
}

// questions reads those of a folder.
func questions(t testing.TB, folder string) []asked {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "questions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []asked
	if err := yaml.UnmarshalStrict(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// describe writes an answer.
func describe(r interpreter.Response, err error) string {
	var failure *interpreter.Failure
	if errors.As(err, &failure) {
		return fmt.Sprintf("%d %s\n", failure.Code, failure.Message)
	}
	var out strings.Builder
	line := func(name string, value any) {
		raw, err := json.Marshal(value)
		if err != nil {
			raw = []byte(err.Error())
		}
		if string(raw) != "null" {
			out.WriteString(name + ": " + string(raw) + "\n")
		}
	}
	if r.Patch != nil {
		out.WriteString("patch: " + string(r.Patch) + "\n")
	}
	line("replicas", r.Replicas)
	line("requirements", r.Requirements)
	line("components", r.Components)
	line("dependencies", r.Dependencies)
	if r.Status != nil {
		out.WriteString("status: " + string(r.Status) + "\n")
	}
	line("healthy", r.Healthy)
	out.WriteString("because: " + strings.Join(r.Because, ", ") + "\n")
	return out.String()
}

// TestFindings compares the findings of each profile in testdata/findings with its want.txt. A program is returned only
// without errors.
func TestFindings(t *testing.T) {
	folders, err := filepath.Glob("testdata/findings/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no test cases found: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(folder, "profile.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			documents, findings := profile.LoadInterpreters(source.File{Name: "profile.yaml", Data: data})
			program, more := rule.Compile(documents)
			findings = append(findings, more...)
			findings.Sort()
			if (program == nil) != (len(findings.Errors()) > 0) {
				t.Errorf("Compile returned a program: %t, want one only without errors", program != nil)
			}
			var out strings.Builder
			for _, f := range findings {
				out.WriteString(f.Error() + " [" + f.Severity.String() + " " + string(f.Rule) + "]\n")
				if f.Rule == rule.WrongPath && f.Fix != nil {
					out.WriteString("  fix: " + f.Fix.Old + " → " + f.Fix.New + "\n")
				}
			}
			golden.Compare(t, filepath.Join(folder, "want.txt"), out.String())
		})
	}
}
