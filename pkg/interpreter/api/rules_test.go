// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

// TestRules sends the inputs of the rule tests in both dialects, and checks that clients accept the answers.
func TestRules(t *testing.T) {
	folders, err := filepath.Glob("../rule/testdata/answers/*")
	if err != nil || len(folders) == 0 {
		t.Fatal("no test cases found", err)
	}
	for _, folder := range folders {
		documents, findings := profile.LoadInterpreters(golden.Read(t, filepath.Join(folder, "profile.yaml")))
		program, more := rule.Compile(documents)
		if findings = append(findings, more...); len(findings) > 0 {
			t.Fatal(findings)
		}
		h := api.New(api.Options{Interpreter: program, Log: logr.Discard()})
		for _, q := range questions(t, filepath.Join(folder, "questions.yaml")) {
			for _, kind := range []string{api.KindContext, api.KindReview} {
				q.check(t, h, program, kind, filepath.Base(folder)+"/"+q.Name+" "+kind)
			}
		}
	}
}

// asked is a question as the tests of the rules have it.
type asked struct {
	Name             string
	Operation        interpreter.Operation
	Kind             *interpreter.Kind
	Object, Observed json.RawMessage
	Replicas         int32
	Members          []interpreter.Member
}

// questions are those that can be sent.
func questions(t *testing.T, file string) []asked {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []asked
	if err := yaml.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func (q asked) check(t *testing.T, h http.Handler, program *rule.Program, kind, about string) {
	t.Helper()
	operation := ""
	for name, o := range api.Operations(kind) {
		if o == q.Operation {
			operation = name
		}
	}
	if operation == "" || q.Object == nil {
		return
	}
	of := interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}
	if q.Kind != nil {
		of = *q.Kind
	}
	request := map[string]any{"uid": "u", "kind": of, "operation": operation, "object": q.Object, "replicas": q.Replicas}
	if q.Observed != nil {
		request["observedObject"] = q.Observed
	}
	var statuses []map[string]any
	for _, m := range q.Members {
		statuses = append(statuses, map[string]any{
			"clusterName": m.Cluster, "status": m.Status, "applied": m.Applied, "appliedMessage": m.Message, "health": m.Health,
		})
	}
	request["aggregatedStatus"] = statuses
	body, err := json.Marshal(map[string]any{"apiVersion": "config.karmada.io/v1alpha1", "kind": kind, "request": request})
	if err != nil {
		t.Fatalf("%s: %v", about, err)
	}
	status, answer := post(t, h, "", body)
	if err := verify(kind, request, status, answer); err != nil {
		t.Errorf("%s: the client rejects the answer: %v: %s", about, err, answer)
	}
	_, wrong := program.Interpret(context.Background(), interpreter.Request{
		Operation: q.Operation, Kind: of, Object: q.Object, Observed: q.Observed, Replicas: q.Replicas, Members: q.Members,
	})
	var m dispatch.ContextMessage
	if kind == api.KindContext && (json.Unmarshal(answer, &m) != nil || m.Response.Successful != (wrong == nil)) {
		t.Errorf("%s: %v, and the answer is %s", about, wrong, answer)
	}
}
