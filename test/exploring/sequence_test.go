// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package exploring_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

// controlPlane calls a webhook in the order in which Karmada's controllers do when an object is propagated (karmada
// v1.19: detector, scheduler's AssignReplicas, ensureWork of the binding controllers).
type controlPlane struct {
	t       *testing.T
	webhook *dispatch.Dispatcher
	// gate is MultiplePodTemplatesScheduling.
	gate bool
	// divided reports that the policy divides replicas between the clusters; else each has all of them.
	divided  bool
	clusters []string
	calls    []string
}

// binding is the part of a ResourceBinding that the interpreter is involved in.
type binding struct {
	replicas     int32
	requirements bool
	components   []interpreter.Component
	assigned     map[string]int32
}

// propagate returns the object for each cluster.
func (k *controlPlane) propagate(object map[string]any) map[string]map[string]any {
	b := k.detect(object)
	k.schedule(&b)
	return k.bind(object, &b)
}

// detect stores components where the gate is on and the webhook is registered for them, and else replicas.
func (k *controlPlane) detect(object map[string]any) (b binding) {
	switch {
	case k.gate && k.asks(object, interpreter.Components):
		b.components = k.call(object, interpreter.Request{Operation: interpreter.Components}).Components
	case k.asks(object, interpreter.Replicas):
		r := k.call(object, interpreter.Request{Operation: interpreter.Replicas})
		b.replicas, b.requirements = *r.Replicas, r.Requirements != nil
	}
	return b
}

// schedule assigns replicas to clusters, unless there are components.
func (k *controlPlane) schedule(b *binding) {
	b.assigned = map[string]int32{}
	if len(b.components) > 0 || b.replicas == 0 && !b.requirements {
		return
	}
	for i, cluster := range k.clusters {
		b.assigned[cluster] = b.replicas
		if count := int32(len(k.clusters)); k.divided {
			b.assigned[cluster] = b.replicas / count
			if int32(i) < b.replicas%count {
				b.assigned[cluster]++
			}
		}
	}
}

// bind revises the object for each cluster if it is a workload: an object with replicas, requirements or components.
func (k *controlPlane) bind(object map[string]any, b *binding) map[string]map[string]any {
	workload := b.replicas > 0 || b.requirements || len(b.components) > 0
	all := map[string]map[string]any{}
	for _, cluster := range k.clusters {
		all[cluster] = object
		if workload && k.asks(object, interpreter.Revise) {
			r := k.call(object, interpreter.Request{Operation: interpreter.Revise, Replicas: b.assigned[cluster]})
			all[cluster] = k.patched(object, r.Patch)
		}
	}
	return all
}

func (k *controlPlane) asks(object map[string]any, o interpreter.Operation) bool {
	return k.webhook.Asks(kindOf(object), k.encode(object), o)
}

func (k *controlPlane) call(object map[string]any, r interpreter.Request) interpreter.Response {
	k.t.Helper()
	called := string(r.Operation)
	if r.Operation == interpreter.Revise {
		called = fmt.Sprint(called, " ", r.Replicas)
	}
	k.calls = append(k.calls, called)
	r.Kind, r.Object = kindOf(object), k.encode(object)
	response, err := k.webhook.Interpret(k.t.Context(), r)
	if err != nil {
		k.t.Fatalf("%s: %v", called, err)
	}
	return response
}

func (k *controlPlane) encode(object map[string]any) []byte {
	k.t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		k.t.Fatal(err)
	}
	return raw
}

func (k *controlPlane) patched(object map[string]any, raw json.RawMessage) map[string]any {
	k.t.Helper()
	if raw == nil {
		return object
	}
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		k.t.Fatal(err)
	}
	changed, err := patch.Apply(k.encode(object))
	if err != nil {
		k.t.Fatal(err)
	}
	var result map[string]any
	if err := json.Unmarshal(changed, &result); err != nil {
		k.t.Fatal(err)
	}
	return result
}

func kindOf(object map[string]any) interpreter.Kind {
	u := unstructured.Unstructured{Object: object}
	return interpreter.KindOf(u.GetAPIVersion(), u.GetKind())
}

// served answers by profiles over TLS, and returns a client that is configured as the program registers itself.
func served(t *testing.T, documents []*profile.Interpreter) *dispatch.Dispatcher {
	t.Helper()
	return observed(t, documents, func([]byte) {})
}

// observed is served, and passes each message on.
func observed(t *testing.T, documents []*profile.Interpreter, message func([]byte)) *dispatch.Dispatcher {
	t.Helper()
	program, findings := rule.Compile(documents)
	if program == nil {
		t.Fatal(findings)
	}
	handler := api.New(api.Options{Interpreter: program, Log: logr.Discard()})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		message(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	registered := configuration.Generate(api.KindContext, "graft", program.Kinds(),
		configuration.Endpoint{URL: server.URL, CABundle: authority})
	d, err := dispatch.New(dispatch.Options{Hooks: dispatch.Interpreters(registered)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func loaded(t *testing.T, name, text string) []*profile.Interpreter {
	t.Helper()
	documents, findings := profile.LoadInterpreters(source.File{Name: name, Data: []byte(text)})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	return documents
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

const (
	database = `{apiVersion: acme.com/v1, kind: Database, metadata: {name: eu, namespace: shop}, spec: {shards: 4}}`
	// databaseWithSecret also has the fields that the rules of its dependencies and its health read.
	databaseWithSecret = `{apiVersion: acme.com/v1, kind: Database, metadata: {name: eu, namespace: shop, generation: 1},
  spec: {shards: 4, credentials: {secretName: a}}}`

	pipeline = `{apiVersion: acme.com/v1, kind: Pipeline, metadata: {name: a, namespace: shop}, spec: {workers: 4}}`
	machines = `{apiVersion: extensions.gardener.cloud/v1alpha1, kind: Worker, metadata: {name: w, namespace: a},
  spec: {pools: [{name: a, minimum: 4}]}}`
	combined = `{apiVersion: acme.com/v1, kind: Queue, metadata: {name: q, namespace: shop}, spec: {workers: 4}}`
	// combining is a profile that lint rejects. The server loads it, as releases before did.
	combining = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: InterpreterProfile
metadata: {name: acme}
kinds:
- apiVersion: acme.com/v1
  kind: Queue
  replicas: [{count: "${ object.spec.workers }"}]
  components: [{name: workers, count: "${ object.spec.workers }"}]
  revise: [{set: {spec.workers: "${ replicas }"}}]
`
)

// TestPropagation replays Karmada's sequence of calls for the propagation of an object. No workload loses its replicas,
// also with the feature gate.
func TestPropagation(t *testing.T) {
	optional, err := gardener.Profiles("worker-replicas")
	if err != nil {
		t.Fatal(err)
	}
	example := loaded(t, "profile.yaml", read(t, "../../example/interpreter/profile.yaml"))
	for _, c := range []struct {
		about     string
		documents []*profile.Interpreter
		object    string
		field     []string
		gate      bool
		divided   bool
		calls     []string
		want      []float64
	}{
		{"example, gate off", example, database, []string{"spec", "shards"}, false, true,
			[]string{"replicas", "revise 2", "revise 2"}, []float64{2, 2}},
		{"example, gate on", example, database, []string{"spec", "shards"}, true, true,
			[]string{"replicas", "revise 2", "revise 2"}, []float64{2, 2}},
		{"example, duplicated", example, database, []string{"spec", "shards"}, true, false,
			[]string{"replicas", "revise 4", "revise 4"}, []float64{4, 4}},
		{"components, gate off", example, pipeline, []string{"spec", "workers"}, false, true, nil, []float64{4, 4}},
		{"components, gate on", example, pipeline, []string{"spec", "workers"}, true, true, []string{"components"},
			[]float64{4, 4}},
		{"both, gate off", loaded(t, "a.yaml", combining), combined, []string{"spec", "workers"}, false, true,
			[]string{"replicas", "revise 2", "revise 2"}, []float64{2, 2}},
		{"both, gate on", loaded(t, "a.yaml", combining), combined, []string{"spec", "workers"}, true, true,
			[]string{"replicas", "revise 2", "revise 2"}, []float64{2, 2}},
		{"Worker, gate off", optional, machines, nil, false, false, []string{"replicas", "revise 4", "revise 4"}, nil},
		{"Worker, gate on", optional, machines, nil, true, false, []string{"replicas", "revise 4", "revise 4"}, nil},
	} {
		t.Run(c.about, func(t *testing.T) {
			object := parsed(t, c.object)
			k := &controlPlane{t: t, webhook: served(t, c.documents), gate: c.gate, divided: c.divided,
				clusters: []string{"one", "two"}}
			members := k.propagate(object)
			if diff := gocmp.Diff(c.calls, k.calls); diff != "" {
				t.Errorf("the calls (-want +got):\n%s", diff)
			}
			for i, cluster := range k.clusters {
				if c.field == nil {
					if diff := gocmp.Diff(object, members[cluster]); diff != "" {
						t.Errorf("%s: the object has changed:\n%s", cluster, diff)
					}
					continue
				}
				got, _, err := unstructured.NestedFieldNoCopy(members[cluster], c.field...)
				if err != nil || got != c.want[i] {
					t.Errorf("%s has %v of %s, want %v: %v", cluster, got, slices.Concat(c.field), c.want[i], err)
				}
			}
		})
	}
}
