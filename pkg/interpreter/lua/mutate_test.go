// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/lua/luatest"
)

// mutator changes JSON here and there. Nothing in it becomes null or empty, which Lua does not tell.
type mutator struct {
	*rand.Rand
	// values are those that stand somewhere.
	values []any
}

// collect notes all values that stand in one.
func (m *mutator) collect(value any) {
	switch value := value.(type) {
	case float64:
		m.values = append(m.values, small(value))
		return
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			m.collect(value[key])
		}
	case []any:
		for _, item := range value {
			m.collect(item)
		}
	}
	if luatest.Filled(value) != nil {
		m.values = append(m.values, luatest.Filled(value))
	}
}

// change is a value with changes.
func (m *mutator) change(value any) any {
	if m.IntN(12) == 0 {
		return m.values[m.IntN(len(m.values))]
	}
	switch value := value.(type) {
	case map[string]any:
		changed := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if m.IntN(10) > 0 {
				changed[key] = m.change(value[key])
			}
		}
		return changed
	case []any:
		var changed []any
		for _, item := range value {
			for range []int{1, 1, 1, 1, 1, 1, 0, 2}[m.IntN(8)] {
				changed = append(changed, m.change(item))
			}
		}
		return changed
	case float64:
		return small(value)
	}
	return value
}

// small is a number that Lua can add several times without losing precision, which is one of the differences.
func small(number float64) float64 {
	if number > 1<<48 || number < -1<<48 {
		return 7
	}
	return number
}

// raw is JSON with changes; nil where there is none.
func (m *mutator) raw(t *testing.T, raw json.RawMessage) json.RawMessage {
	t.Helper()
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return raw
	}
	changed, ok := luatest.Filled(m.change(value)).(map[string]any)
	if !ok {
		changed = map[string]any{"metadata": map[string]any{"name": "a"}}
	}
	if changed["metadata"] != nil {
		changed["metadata"] = validMetadata(changed["metadata"])
	}
	out, err := json.Marshal(changed)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// validMetadata returns metadata without fields of types that Kubernetes rejects.
func validMetadata(value any) map[string]any {
	valid := map[string]any{"name": "a"}
	metadata, _ := value.(map[string]any)
	for name, field := range metadata {
		switch name {
		case "labels", "annotations":
			texts, _ := field.(map[string]any)
			maps.DeleteFunc(texts, func(_ string, text any) bool { _, ok := text.(string); return !ok })
			if len(texts) > 0 {
				valid[name] = texts
			}
		case "generation":
			if number, ok := field.(float64); ok && number == float64(int64(number)) {
				valid[name] = number
			}
		case "name", "namespace", "uid", "resourceVersion":
			if text, ok := field.(string); ok {
				valid[name] = text
			}
		default:
			valid[name] = field
		}
	}
	return valid
}

// FuzzObjects compares rules and scripts for random objects, observed objects and statuses.
func FuzzObjects(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Add(uint64(341)) // a dependency with an invalid apiVersion and without a namespace
	folders, err := filepath.Glob("../rule/testdata/answers/*")
	if err != nil || len(folders) == 0 {
		f.Fatalf("no test cases found: %v", err)
	}
	folders = append(folders, "../gardener/testdata/answers")
	pairs, questions := map[string]*luatest.Pair{}, map[string][]asked{}
	for _, folder := range folders {
		var all []asked
		if err := yaml.UnmarshalStrict(file(f, filepath.Join(folder, "questions.yaml")), &all); err != nil {
			f.Fatal(err)
		}
		questions[folder], pairs[folder] = all, pairOf(f, folder)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		m := &mutator{Rand: rand.New(rand.NewPCG(seed, 1))}
		folder := folders[m.IntN(len(folders))]
		a := questions[folder][m.IntN(len(questions[folder]))]
		r := a.request(t)
		for _, raw := range append([]json.RawMessage{r.Object, r.Observed}, statuses(a)...) {
			var value any
			if json.Unmarshal(raw, &value) == nil {
				m.collect(value)
			}
		}
		m.values = append(m.values, "text", 1.0, 2.5, true, false, []any{"a"}, map[string]any{"name": "a"})
		if len(r.Object) > 0 {
			r.Object = m.raw(t, r.Object)
		}
		r.Members = slices.Clone(r.Members)
		for i := range r.Members {
			if len(r.Members[i].Status) > 0 {
				r.Members[i].Status = m.raw(t, r.Members[i].Status)
			}
		}
		if len(r.Observed) > 0 {
			r.Observed = m.raw(t, r.Observed)
		}
		if diff := difference(t, pairs[folder], r); diff != "" {
			t.Errorf("%s: %s\nobject %s\nobserved %s\nmembers %s\n%s", folder, r.Operation, r.Object, r.Observed, statuses(asked{Members: r.Members}), diff)
		}
	})
}

// pairOf is the profile of a folder, or those of Gardener.
func pairOf(f *testing.F, folder string) *luatest.Pair {
	f.Helper()
	documents, err := gardener.Profiles()
	if data, missing := os.ReadFile(filepath.Join(folder, "profile.yaml")); missing == nil {
		documents, _ = profile.LoadInterpreters(source.File{Name: "profile.yaml", Data: data})
	}
	if err != nil {
		f.Fatal(err)
	}
	pair, findings := luatest.NewPair(documents, lua.Options{Versions: map[string][]string{"acme.com": {"v1", "v2", "v3"}}})
	if pair == nil {
		f.Fatal(findings)
	}
	f.Cleanup(pair.Close)
	return pair
}

// statuses returns the statuses of a request's members.
func statuses(a asked) []json.RawMessage {
	var all []json.RawMessage
	for _, member := range a.Members {
		all = append(all, member.Status)
	}
	return all
}
