// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
)

// handlers are all paths, and a server with them.
func handlers(t testing.TB) (*http.ServeMux, *server) {
	t.Helper()
	mux := http.NewServeMux()
	addFloors(mux)
	cluster, err := newSeedCache()
	must(t, err)
	must(t, addLibrary(mux, cluster))
	must(t, addGraft(t.Context(), mux, "testdata", cluster))
	backend := httptest.NewServer(mux)
	t.Cleanup(backend.Close)
	return mux, &server{url: backend.URL, client: backend.Client()}
}

// TestSameEdits holds that all paths of a group make the same of an object, so that they can be compared, and that the
// conforming object is left alone by each.
func TestSameEdits(t *testing.T) {
	_, s := handlers(t)
	for _, group := range groups {
		toEdit, conforming, err := group.bodies(t.Context(), s, "testdata")
		must(t, err)
		for _, way := range group.paths {
			t.Run(group.name+"/"+way.name, func(t *testing.T) {
				must(t, (&row{name: way.name, path: way.path, body: conforming}).check(t.Context(), s))
				answer, err := s.ask(t.Context(), way.path, toEdit)
				must(t, err)
				patch, err := jsonpatch.DecodePatch(answer.Patch)
				must(t, err)
				got, err := patch.Apply(member(t, toEdit, "object"))
				must(t, err)
				if diff := cmp.Diff(decoded(t, member(t, conforming, "object")), decoded(t, got)); diff != "" {
					t.Errorf("not what the first way makes (-first +this):\n%s", diff)
				}
			})
		}
	}
}

// BenchmarkHandler is each path without the network, for profiles.
func BenchmarkHandler(b *testing.B) {
	mux, s := handlers(b)
	for _, group := range groups {
		toEdit, conforming, err := group.bodies(b.Context(), s, "testdata")
		must(b, err)
		for _, way := range append([]way{{"F1", "/f1"}}, group.paths...) {
			for name, body := range map[string][]byte{"edits": toEdit, "conforming": conforming} {
				b.Run(group.name+"/"+way.name+"/"+name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						request := httptest.NewRequest(http.MethodPost, way.path+"?timeout=10s", bytes.NewReader(body))
						request.Header.Set("Content-Type", "application/json")
						mux.ServeHTTP(&discard{header: http.Header{}}, request)
					}
				})
			}
		}
	}
}

// discard is a response that nobody reads.
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

func decoded(t testing.TB, raw []byte) any {
	t.Helper()
	var value any
	must(t, json.Unmarshal(raw, &value))
	return value
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
