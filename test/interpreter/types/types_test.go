// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package types_test decodes the inputs and outputs of the library of interpreter profiles into the API types of the
// projects.
package types_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"golang.org/x/mod/modfile"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const library = "../../../example/interpreter/library"

// profile has the parts of an InterpreterProfile that are compared with types.
type profile struct {
	Metadata struct{ Annotations map[string]string }
	Kinds    []struct {
		APIVersion string
		Kind       string
		Kinds      []string
		Components []any
		Revise     []struct{ Set map[string]any }
		Retain     []struct {
			Fields []string
			Set    map[string]any
			Items  any
		}
		Status    []struct{ Keep []string }
		Aggregate []struct{ Field string }
	}
}

// table has the parts of an InterpreterProfileTest that are compared with types.
type table struct {
	Objects map[string]json.RawMessage
	Cases   []struct {
		Name     string
		Object   json.RawMessage
		Observed json.RawMessage
		Members  map[string]struct{ Status map[string]any }
		Want     struct {
			Object struct{ Status map[string]any }
		}
	}
}

// TestProjects checks that each folder of the library is one of the projects, and names the version of its types.
func TestProjects(t *testing.T) {
	data, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	module, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range module.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	folders, err := os.ReadDir(library)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range folders {
		if f.IsDir() {
			names = append(names, f.Name())
		}
	}
	if want := slices.Sorted(maps.Keys(projects)); !slices.Equal(names, want) {
		t.Fatalf("the library has %v, the projects are %v", names, want)
	}
	for name, of := range projects {
		said := read[profile](t, filepath.Join(library, name, "profile.yaml")).Metadata.Annotations["version"]
		if !strings.Contains(said, " v") || (of.why == "") != (len(of.types) > 0) {
			t.Errorf("%s: version is %q, and there are %d types: %q", name, said, len(of.types), of.why)
		}
		for _, m := range of.modules {
			if !strings.Contains(said+",", " "+versions[m]+",") {
				t.Errorf("%s: version is %q, and %s is %s", name, said, m, versions[m])
			}
		}
	}
}

// TestParts checks that no kind has both components and revise: with components, Karmada divides nothing and revises to
// zero.
func TestParts(t *testing.T) {
	for name := range projects {
		components, revised := map[string]bool{}, map[string]bool{}
		for _, k := range read[profile](t, filepath.Join(library, name, "profile.yaml")).Kinds {
			for _, kind := range append(k.Kinds, k.Kind) {
				components[kind] = components[kind] || len(k.Components) > 0
				revised[kind] = revised[kind] || len(k.Revise) > 0
			}
		}
		for kind := range components {
			if kind != "" && components[kind] && revised[kind] {
				t.Errorf("%s: %s has components and revise", name, kind)
			}
		}
	}
}

// TestFields checks that each path that a profile keeps, writes or retains is a field of the type.
func TestFields(t *testing.T) {
	for name, of := range projects {
		for _, k := range read[profile](t, filepath.Join(library, name, "profile.yaml")).Kinds {
			var paths []string
			for _, r := range k.Revise {
				paths = append(paths, slices.Sorted(maps.Keys(r.Set))...)
			}
			for _, r := range k.Retain {
				if r.Items == nil {
					paths = append(append(paths, r.Fields...), slices.Sorted(maps.Keys(r.Set))...)
				}
			}
			for _, r := range k.Status {
				for _, path := range r.Keep {
					paths = append(paths, "status."+path)
				}
			}
			for _, r := range k.Aggregate {
				paths = append(paths, r.Field)
			}
			for _, kind := range append(k.Kinds, k.Kind) {
				if kind == "" || of.why != "" {
					continue
				}
				for _, path := range paths {
					of.decode(t, name+": "+path, k.APIVersion+" "+kind, nested(t, path))
				}
			}
		}
	}
}

// nested returns an object with null at a path, which is right for all types.
func nested(t *testing.T, path string) []byte {
	t.Helper()
	var value any
	steps := strings.Split(path, ".")
	slices.Reverse(steps)
	for _, step := range steps {
		value = map[string]any{step: value}
	}
	return marshal(t, value)
}

// TestCases decodes the objects of all cases, and the statuses of members and aggregations.
func TestCases(t *testing.T) {
	count := 0
	for name, of := range projects {
		files, err := filepath.Glob(filepath.Join(library, name, "tests", "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no cases: %v", name, err)
		}
		for _, file := range files {
			if of.why != "" {
				continue
			}
			cases := read[table](t, file)
			for _, c := range cases.Cases {
				object := cases.resolve(t, c.Object)
				kind := kindOf(t, object)
				of.decode(t, name+": "+c.Name, kind, object)
				if c.Observed != nil {
					of.decode(t, name+": "+c.Name, kind, cases.resolve(t, c.Observed))
				}
				statuses := []map[string]any{c.Want.Object.Status}
				for _, member := range c.Members {
					statuses = append(statuses, member.Status)
				}
				for _, status := range statuses {
					// Karmada's own fields, in addition to those of the type.
					delete(status, "generation")
					delete(status, "resourceTemplateGeneration")
					of.decode(t, name+": "+c.Name, kind, marshal(t, map[string]any{"status": status}))
				}
				count++
			}
		}
	}
	if count < 80 {
		t.Errorf("only %d cases were decoded", count)
	}
}

// decode decodes an object strictly.
func (p project) decode(t *testing.T, what, kind string, data []byte) {
	t.Helper()
	empty := p.types[kind]
	if empty == nil {
		t.Errorf("%s: %s has no type", what, kind)
		return
	}
	strict, err := kjson.UnmarshalStrict(data, empty())
	if err != nil || len(strict) > 0 {
		t.Errorf("%s: decoding a %s: %v %v\n%s", what, kind, err, strict, data)
	}
}

// resolve returns the object that is meant: one of a name, one like another, or the object itself.
func (c *table) resolve(t *testing.T, raw json.RawMessage) json.RawMessage {
	t.Helper()
	var name string
	if json.Unmarshal(raw, &name) == nil {
		if c.Objects[name] == nil {
			t.Fatalf("there is no object %q", name)
		}
		return c.resolve(t, c.Objects[name])
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	from, ok := object["from"]
	if !ok {
		return raw
	}
	delete(object, "from")
	merged, err := jsonpatch.MergePatch(c.resolve(t, from), marshal(t, object))
	if err != nil {
		t.Fatal(err)
	}
	return merged
}

func kindOf(t *testing.T, object []byte) string {
	t.Helper()
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(object, &head); err != nil {
		t.Fatal(err)
	}
	return head.APIVersion + " " + head.Kind
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func read[T any](t *testing.T, file string) *T {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	into := new(T)
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("reading %s: %v", file, err)
	}
	return into
}
