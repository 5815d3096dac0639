// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/unit"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/test/benchmark/apart"
)

// handlers are all paths, and a server with them.
func handlers(t testing.TB) (*http.ServeMux, server) {
	t.Helper()
	mux := http.NewServeMux()
	addFloors(mux)
	cluster, err := newSeedCache()
	must(t, err)
	must(t, addLibrary(mux, cluster))
	must(t, addGraft(t.Context(), mux, "testdata", cluster, newGuard()))
	backend := httptest.NewServer(mux)
	t.Cleanup(backend.Close)
	return mux, server{&apart.Servers{URLs: []string{backend.URL}, Client: backend.Client()}}
}

// TestSameEdits checks that all ways of a group have the same result for an object, and do not change it again.
func TestSameEdits(t *testing.T) {
	_, s := handlers(t)
	for _, group := range groups {
		_, first, err := group.bodies(t.Context(), s, "testdata", group.paths[0])
		must(t, err)
		want := readable(t, member(t, first, "object"))
		for _, way := range group.paths {
			t.Run(group.name+"/"+way.name, func(t *testing.T) {
				toEdit, conforming, err := group.bodies(t.Context(), s, "testdata", way)
				must(t, err)
				must(t, (&row{name: way.name, path: way.path, body: toEdit, patches: true}).check(t.Context(), s))
				must(t, (&row{name: way.name, path: way.path, body: conforming}).check(t.Context(), s))
				if diff := cmp.Diff(want, readable(t, member(t, conforming, "object"))); diff != "" {
					t.Errorf("the result differs from the first implementation's (-first +this):\n%s", diff)
				}
			})
		}
	}
}

// TestEachRequestHasAnotherUnit checks that no two requests of the row have the same kubelet unit, and that each gets a
// patch.
func TestEachRequestHasAnotherUnit(t *testing.T) {
	_, s := handlers(t)
	r, err := groups[1].anotherEachTime(t.Context(), s, "testdata")
	must(t, err)
	seen := map[string]bool{}
	for range contents + 2 {
		body := r.next(new([]byte))
		for _, name := range []string{"object", "oldObject"} {
			raw := string(member(t, body, name))
			_, after, _ := strings.Cut(raw, level)
			if seen[name+after[:9]] || strings.Count(raw, level) != 1 {
				t.Fatalf("%s%s comes again, or more than once", level, after[:9])
			}
			seen[name+after[:9]] = true
		}
		must(t, (&row{name: r.name, path: r.path, body: body, patches: true}).check(t.Context(), s))
	}
}

// readable decodes an object without the record of the mutating client, and normalizes two texts that Gardener's
// library writes differently: the kubelet's unit, in which it adds a new flag after the last variable, and the
// kubelet's configuration.
func readable(t testing.TB, raw []byte) any {
	t.Helper()
	var object map[string]any
	must(t, json.Unmarshal(raw, &object))
	if annotations, ok := object["metadata"].(map[string]any)["annotations"].(map[string]any); ok {
		maps.DeleteFunc(annotations, func(key string, _ any) bool {
			return strings.HasPrefix(key, "graft.provider.extensions.gardener.cloud/")
		})
		if len(annotations) == 0 {
			delete(object["metadata"].(map[string]any), "annotations")
		}
	}
	spec := object["spec"].(map[string]any)
	units, _ := spec["units"].([]any)
	for _, each := range units {
		if each := each.(map[string]any); each["name"] == "kubelet.service" {
			options, err := unit.DeserializeOptions(strings.NewReader(each["content"].(string)))
			must(t, err)
			slices.SortStableFunc(options,
				func(a, b *unit.UnitOption) int { return strings.Compare(a.Section+a.Name, b.Section+b.Name) })
			for _, option := range options {
				words := strings.Fields(strings.ReplaceAll(option.Value, "\\\n", " "))
				option.Value = strings.Join(slices.Sorted(slices.Values(words)), " ")
			}
			each["content"] = options
		}
	}
	files, _ := spec["files"].([]any)
	for _, each := range files {
		if each := each.(map[string]any); each["path"] == "/var/lib/kubelet/config/kubelet" {
			inline := each["content"].(map[string]any)["inline"].(map[string]any)
			text, err := base64.StdEncoding.DecodeString(inline["data"].(string))
			must(t, err)
			var configuration map[string]any
			must(t, yaml.Unmarshal(text, &configuration))
			inline["data"] = configuration
		}
	}
	return object
}

// BenchmarkHandler is each way without the network, for profiles.
func BenchmarkHandler(b *testing.B) {
	mux, s := handlers(b)
	for _, group := range groups {
		for _, way := range group.paths {
			toEdit, conforming, err := group.bodies(b.Context(), s, "testdata", way)
			must(b, err)
			if way == group.paths[0] {
				benchmark(b, mux, group.name+"/F1", "/f1", toEdit)
			}
			benchmark(b, mux, group.name+"/"+way.name+"/edits", way.path, toEdit)
			benchmark(b, mux, group.name+"/"+way.name+"/conforming", way.path, conforming)
		}
		if group.resource == "operatingsystemconfigs" {
			r, err := group.anotherEachTime(b.Context(), s, "testdata")
			must(b, err)
			benchmarkRow(b, mux, group.name+"/another", r)
		}
	}
}

func benchmark(b *testing.B, mux http.Handler, name, path string, body []byte) {
	benchmarkRow(b, mux, name, &row{path: path, body: body})
}

func benchmarkRow(b *testing.B, mux http.Handler, name string, r *row) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		var buffer []byte
		for b.Loop() {
			request := httptest.NewRequest(http.MethodPost, r.path+"?timeout=10s", bytes.NewReader(r.next(&buffer)))
			request.Header.Set("Content-Type", "application/json")
			mux.ServeHTTP(&discard{header: http.Header{}}, request)
		}
	})
}

// discard is a response that is discarded.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

func member(t testing.TB, review []byte, name string) []byte {
	t.Helper()
	var r struct {
		Request map[string]json.RawMessage `json:"request"`
	}
	must(t, json.Unmarshal(review, &r))
	return r.Request[name]
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
