// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package exploring_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
)

// callRow is a row of the table of calls.
type callRow struct {
	Operation interpreter.Operation
	Karmada   string
	Sent      []string
	Gate      bool
	Gets      string
	Then      string
}

func callRows(t *testing.T) []callRow {
	t.Helper()
	var rows []callRow
	if err := yaml.UnmarshalStrict([]byte(read(t, "testdata/calls.yaml")), &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestCallList checks that the page for users has the items, with all operations that can be registered.
func TestCallList(t *testing.T) {
	page := strings.ReplaceAll(read(t, "../../docs/usage/interpreter.md"), "\n  ", " ") // an item in one line
	names := api.Operations(api.KindContext)
	delete(names, "Prune") // which Karmada refuses to register
	for _, r := range callRows(t) {
		item := fmt.Sprintf("- %#q (%s) gets %s. %s.", r.Operation, r.Karmada, r.Gets, r.Then)
		if !strings.Contains(page, item) {
			t.Errorf("docs/usage/interpreter.md lacks the item\n%s", item)
		}
		if names[r.Karmada] != r.Operation {
			t.Errorf("%s is not the operation %s", r.Karmada, r.Operation)
		}
		delete(names, r.Karmada)
	}
	if len(names) > 0 {
		t.Errorf("the page lacks items for %v", names)
	}
}

// live takes an object through its life in all clusters: it is propagated with its dependencies, written twice to
// members, whose statuses come back.
func (k *controlPlane) live(object map[string]any, status map[string]any) map[string]any {
	b := k.detect(object)
	k.schedule(&b)
	if k.asks(object, interpreter.Dependencies) {
		k.call(object, interpreter.Request{Operation: interpreter.Dependencies})
	}
	desired := k.bind(object, &b)
	var members []interpreter.Member
	var observed []map[string]any
	for _, cluster := range k.clusters {
		copied := desired[cluster]
		if k.asks(object, interpreter.Retain) {
			copied = k.patched(copied,
				k.call(copied, interpreter.Request{Operation: interpreter.Retain, Observed: k.encode(copied)}).Patch)
		}
		copied["status"] = status
		observed = append(observed, copied)
	}
	for i, cluster := range k.clusters {
		reflected := interpreter.Member{Cluster: cluster, Applied: true}
		if k.asks(object, interpreter.Status) {
			reflected.Status = k.call(observed[i], interpreter.Request{Operation: interpreter.Status}).Status
		}
		if k.asks(object, interpreter.Health) &&
			*k.call(observed[i], interpreter.Request{Operation: interpreter.Health}).Healthy {
			reflected.Health = "Healthy"
		}
		members = append(members, reflected)
	}
	if !k.asks(object, interpreter.Aggregate) {
		return object
	}
	return k.patched(object, k.call(object, interpreter.Request{Operation: interpreter.Aggregate, Members: members}).Patch)
}

// TestCalls makes the calls of the table and checks the use of the answers.
func TestCalls(t *testing.T) {
	sent := map[string][]string{}
	webhook := observed(t, loaded(t, "profile.yaml", read(t, "../../example/interpreter/profile.yaml")), func(raw []byte) {
		var message struct{ Request map[string]any }
		if err := json.Unmarshal(raw, &message); err != nil {
			t.Error(err)
		}
		operation := message.Request["operation"].(string)
		for _, field := range []string{"uid", "kind", "name", "namespace", "operation"} {
			delete(message.Request, field)
		}
		if operation != "ReviseReplica" {
			if message.Request["replicas"] != 0.0 {
				t.Errorf("%s has the replicas %v", operation, message.Request["replicas"])
			}
			delete(message.Request, "replicas")
		}
		sent[operation] = slices.Sorted(maps.Keys(message.Request))
	})
	for _, c := range []struct {
		object, status string
		gate           bool
		without        []interpreter.Operation
		want           map[string]any
	}{
		{databaseWithSecret, `{phase: Running, readyReplicas: 2}`, false, []interpreter.Operation{interpreter.Components},
			map[string]any{"phase": "Running", "readyReplicas": 4.0}},
		{pipeline, `{phase: Running}`, true, []interpreter.Operation{
			interpreter.Replicas, interpreter.Revise, interpreter.Dependencies, interpreter.Retain, interpreter.Status,
			interpreter.Aggregate,
		}, nil},
	} {
		k := &controlPlane{t: t, webhook: webhook, gate: c.gate, divided: true, clusters: []string{"one", "two"}}
		object := k.live(parsed(t, c.object), parsed(t, c.status))
		var got, want []string
		for _, call := range k.calls {
			if name, _, _ := strings.Cut(call, " "); !slices.Contains(got, name) {
				got = append(got, name)
			}
		}
		for _, r := range callRows(t) {
			if !slices.Contains(c.without, r.Operation) {
				want = append(want, string(r.Operation))
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("the calls (-want +got):\n%s", diff)
		}
		for _, r := range callRows(t) {
			if diff := gocmp.Diff(r.Sent, slices.Sorted(slices.Values(sent[r.Karmada]))); slices.Contains(got,
				string(r.Operation)) && diff != "" {
				t.Errorf("what %s sends (-want +got):\n%s", r.Karmada, diff)
			}
		}
		status, _ := object["status"].(map[string]any)
		for field, value := range c.want {
			if status[field] != value {
				t.Errorf("the status of the template is %v, want %s: %v", status, field, value)
			}
		}
	}
}
