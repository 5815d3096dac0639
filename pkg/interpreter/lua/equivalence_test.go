// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/lua/luatest"
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
		r.Kind = interpreter.KindOf(head.APIVersion, head.Kind)
	}
	return r
}

// newPair compiles and translates documents.
func newPair(t *testing.T, documents []*profile.Interpreter) *luatest.Pair {
	t.Helper()
	pair, findings := luatest.NewPair(documents, lua.Options{Versions: map[string][]string{"acme.com": {"v1", "v2", "v3"}}})
	if pair == nil {
		t.Fatal(findings)
	}
	t.Cleanup(pair.Close)
	return pair
}

// difference is how the answers to a question differ.
func difference(t *testing.T, pair *luatest.Pair, r interpreter.Request) string {
	t.Helper()
	diff, err := pair.Difference(r)
	if err != nil {
		t.Fatal(err)
	}
	return diff
}

// forced are the questions that are answered otherwise in Lua, and why that cannot be helped.
var forced = map[string]string{
	"testdata/revise: a key that occurs twice": "Karmada hands over objects that it has decoded, in which no key occurs twice",
	"testdata/retain: null observed":           "Karmada hands over an observed object, always",
	"testdata/aggregate: a mapping for a list": "what is empty is an empty table in Lua, an object as well as a list",
	"testdata/replicas: null for a number":     "null does not reach Lua: a field that is null is absent there",
	"testdata/replicas: no requirements":       "null does not reach Lua: a field that is null is absent there",
}

// TestAnswers compares the scripts with the rules for the questions of the rules, except for those in forced.
func TestAnswers(t *testing.T) {
	folders, err := filepath.Glob("../rule/testdata/answers/*")
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
			if len(findings) > 0 {
				t.Fatal(findings)
			}
			all := newPair(t, documents)
			ask(t, folder, func([]string) *luatest.Pair { return all })
		})
	}
}

// TestGardener does the same for the questions about Gardener's kinds.
func TestGardener(t *testing.T) {
	all := map[string]*luatest.Pair{}
	ask(t, "../gardener/testdata/answers", func(optional []string) *luatest.Pair {
		key := strings.Join(optional, ",")
		if all[key] == nil {
			documents, err := gardener.Profiles(optional...)
			if err != nil {
				t.Fatal(err)
			}
			all[key] = newPair(t, documents)
		}
		return all[key]
	})
}

// ask sends the requests of a folder to rules and scripts.
func ask(t *testing.T, folder string, of func(optional []string) *luatest.Pair) {
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
		diff := difference(t, of(a.Optional), a.request(t))
		switch why, known := forced[name]; {
		case known && diff == "":
			t.Errorf("%s: is answered alike, though %s", name, why)
		case !known && diff != "":
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
