// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua/luatest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// asked is a question as testdata/answers of the rules write it.
type asked struct {
	Name      string
	Optional  []string
	Operation interpreter.Operation
	Kind      *interpreter.Kind
	Object    json.RawMessage
	Observed  json.RawMessage
	Raw       string
	Replicas  int32
	Members   []interpreter.Member
}

// request is the question.
func (a asked) request(t *testing.T) interpreter.Request {
	t.Helper()
	r := interpreter.Request{
		Operation: a.Operation, Kind: interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}, Object: a.Object, Observed: a.Observed,
		Replicas: a.Replicas, Members: a.Members,
	}
	if a.Raw != "" {
		r.Object = json.RawMessage(a.Raw)
	}
	var head struct{ APIVersion, Kind string }
	switch {
	case a.Kind != nil:
		r.Kind = *a.Kind
	case json.Unmarshal(r.Object, &head) == nil && head.Kind != "":
		of := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
		r.Kind = interpreter.Kind{Group: of.Group, Version: of.Version, Kind: of.Kind}
	}
	return r
}

// both answers questions by rules, and by their translation.
type both struct {
	program *rule.Program
	scripts map[interpreter.Kind]*lua.Customizations
	machine *luatest.Machine
}

// newBoth compiles and translates documents.
func newBoth(t *testing.T, documents []*profile.Interpreter) *both {
	t.Helper()
	program, findings := rule.Compile(documents)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	b, findings := translated(t, documents, program)
	if b == nil {
		t.Fatal(findings)
	}
	return b
}

// translated is a program beside its translation; nil where it cannot be said in Lua.
func translated(t *testing.T, documents []*profile.Interpreter, program *rule.Program) (*both, source.Findings) {
	t.Helper()
	customizations, findings := lua.Translate(documents, lua.Options{Versions: map[string][]string{"acme.com": {"v1", "v2", "v3"}}})
	if len(findings.Errors()) > 0 {
		return nil, findings
	}
	machine, err := luatest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(machine.Close)
	machine.Keep = true
	b := &both{program: program, machine: machine, scripts: map[interpreter.Kind]*lua.Customizations{}}
	for i, c := range customizations {
		of := schema.FromAPIVersionAndKind(c.Spec.Target.APIVersion, c.Spec.Target.Kind)
		b.scripts[interpreter.Kind{Group: of.Group, Version: of.Version, Kind: of.Kind}] = &customizations[i].Spec.Customizations
	}
	return b, nil
}

// difference is how the two answers differ; empty where they do not.
func (b *both) difference(t *testing.T, r interpreter.Request) string {
	t.Helper()
	response, err := b.program.Interpret(context.Background(), r)
	scripts := b.scripts[r.Kind]
	if scripts == nil || scripts.Of(r.Operation) == nil {
		if err == nil && r.Operation != interpreter.Prune {
			return "there is no script"
		}
		return ""
	}
	answer, err2 := b.machine.Answer(scripts, r)
	switch {
	case err != nil && err2 != nil:
		return ""
	case err != nil || err2 != nil:
		return cmp.Diff(text(err), text(err2))
	}
	return cmp.Diff(seen(t, r, response), plain(t, answer.Response, answer.Object))
}

func text(err error) string {
	if err == nil {
		return "an answer"
	}
	return err.Error()
}

// seen is a response with the object as it becomes, in place of the patch.
func seen(t *testing.T, r interpreter.Request, response interpreter.Response) any {
	t.Helper()
	var object json.RawMessage
	switch r.Operation {
	case interpreter.Revise, interpreter.Retain, interpreter.Aggregate:
		object = r.Object
		if response.Patch != nil {
			patch, err := jsonpatch.DecodePatch(response.Patch)
			if err != nil {
				t.Fatal(err)
			}
			if object, err = patch.Apply(object); err != nil {
				t.Fatal(err)
			}
		}
	}
	response.Patch, response.Because = nil, nil
	return plain(t, response, object)
}

// plain is an answer without what Lua in Karmada cannot tell: null, and what is empty.
func plain(t *testing.T, response interpreter.Response, object json.RawMessage) any {
	t.Helper()
	raw, err := json.Marshal(luatest.Answer{Response: response, Object: object})
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(raw, &decoded); err != nil {
		t.Fatal(err)
	}
	return filled(decoded)
}

// filled is a value without what is null or empty in it; nil where nothing is left.
func filled(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if value[key] = filled(member); value[key] == nil {
				delete(value, key)
			}
		}
		if len(value) == 0 {
			return nil
		}
	case []any:
		var kept []any
		for _, item := range value {
			if item = filled(item); item != nil {
				kept = append(kept, item)
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return kept
	}
	return value
}

// forced are the questions that are answered otherwise in Lua, and why that cannot be helped.
var forced = map[string]string{
	"testdata/revise: a key that stands twice": "Karmada hands over objects that it has decoded, in which no key stands twice",
	"testdata/retain: null observed":           "Karmada hands over an observed object, always",
	"testdata/aggregate: a mapping for a list": "what is empty is an empty table in Lua, an object as well as a list",
	"testdata/replicas: no requirements":       "null does not reach Lua: a field that is null is absent there",
}

// TestAnswers holds that the questions of the rules are answered as the rules do, but for those in forced, which are not.
func TestAnswers(t *testing.T) {
	folders, err := filepath.Glob("../rule/testdata/answers/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(folder, "profile.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			documents, findings := profile.LoadInterpreters(source.File{Name: "profile.yaml", Data: data})
			if len(findings) > 0 {
				t.Fatal(findings)
			}
			all := newBoth(t, documents)
			ask(t, folder, func([]string) *both { return all })
		})
	}
}

// TestGardener holds the same of the questions about Gardener's kinds.
func TestGardener(t *testing.T) {
	all := map[string]*both{}
	ask(t, "../gardener/testdata/answers", func(optional []string) *both {
		key := strings.Join(optional, ",")
		if all[key] == nil {
			documents, err := gardener.Profiles(optional...)
			if err != nil {
				t.Fatal(err)
			}
			all[key] = newBoth(t, documents)
		}
		return all[key]
	})
}

// ask asks the questions of a folder.
func ask(t *testing.T, folder string, of func(optional []string) *both) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "questions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var questions []asked
	if err := yaml.UnmarshalStrict(data, &questions); err != nil {
		t.Fatal(err)
	}
	for _, a := range questions {
		name := filepath.Base(filepath.Dir(filepath.Dir(folder))) + "/" + filepath.Base(folder) + ": " + a.Name
		diff := of(a.Optional).difference(t, a.request(t))
		switch why, known := forced[name]; {
		case known && diff == "":
			t.Errorf("%s: is answered alike, though %s", name, why)
		case !known && diff != "":
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
