// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

func TestEncode(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{
			name: "what the API server writes",
			in: `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"d","uid":"u","resourceVersion":"1","generation":1,
				"creationTimestamp":null,"managedFields":[],"labels":{"b":"1","a":"2"}},"spec":{"clusterIP":"kept"},"status":{}}`,
			want: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"a":"2","b":"1"},"name":"d"},"spec":{"clusterIP":"kept"}}`,
		},
		{
			name: "what a Service is allocated",
			in: `{"kind":"Service","apiVersion":"v1","metadata":{"name":"s"},"spec":{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],
				"healthCheckNodePort":30001,"ports":[{"port":443,"nodePort":30000}]}}`,
			want: `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":[{"port":443}]}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			object, err := decode([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			got, err := encode(object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := decode([]byte(`[]`)); err == nil {
		t.Error("a list must be an error")
	}
}

func newSubject(t *testing.T, object string) *subject {
	t.Helper()
	change, err := render.NewChange([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	return &subject{change: change}
}

func TestProblems(t *testing.T) {
	good, bad := newSubject(t, `{"kind":"K","metadata":{"name":"good"}}`), newSubject(t, `{"kind":"K","metadata":{"name":"bad"}}`)
	if err := problems([]*subject{good}); err != nil {
		t.Errorf("got error %v, want none", err)
	}
	if got := verdict([]*subject{good}); !strings.Contains(got, "all 1 objects") {
		t.Errorf("got the verdict %q", got)
	}
	bad.problem("one %d", 1)
	bad.problem("two")
	err := problems([]*subject{good, bad})
	if !errors.Is(err, errNotAsTheProfilesSay) {
		t.Fatalf("got error %v, want %v", err, errNotAsTheProfilesSay)
	}
	if diff := cmp.Diff("1 of 2 objects are not as the profiles say:\n  K bad: one 1\n  K bad: two", err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if good.weight() >= bad.weight() {
		t.Error("an object with a problem must stand before one without")
	}
}

func TestDiffering(t *testing.T) {
	before := []*subject{newSubject(t, `{"kind":"K","metadata":{"name":"a"}}`), newSubject(t, `{"kind":"K","metadata":{"name":"b"}}`)}
	after := []*subject{newSubject(t, `{"kind":"K","metadata":{"name":"a"}}`), newSubject(t, `{"kind":"K","metadata":{"name":"b"},"x":1}`)}
	got := differing(before, after)
	if len(got) != 1 || got[0].name() != "K b" {
		t.Fatalf("got %d subjects, want K b", len(got))
	}
	after[1].refused = errors.New("refused")
	if got := differing(before, after); len(got) != 1 || got[0].name() != "K b" {
		t.Errorf("got %d subjects, want K b: it is refused now", len(got))
	}
	before[1] = &subject{refused: errors.New("refused before, and not prepared")}
	if got := differing(before, after); len(got) != 1 || got[0].name() != "K b" {
		t.Errorf("got %d subjects, want K b: nothing is known of it", len(got))
	}
}

func TestExpects(t *testing.T) {
	const object = `{"kind":"K","metadata":{"name":"a"}}`
	admitted, refused, denial := newSubject(t, object), newSubject(t, object), errors.New("denied")
	refused.refused = denial
	for _, c := range []struct {
		name    string
		subject *subject
		got     string
		err     error
		want    bool
	}{
		{"stored", admitted, object, nil, true},
		{"stored otherwise", admitted, `{}`, nil, false},
		{"denied", admitted, "", denial, false},
		{"stored though refused", refused, object, nil, false},
		{"denied as refused", refused, "", denial, true},
	} {
		if got := c.subject.expects([]byte(c.got), c.err); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestServed(t *testing.T) {
	profiles := load(t, withLookups)
	if err := served("acme", profiles); err != nil {
		t.Errorf("got error %v, want none", err)
	}
	if err := served("other", profiles); !errors.Is(err, errNoRule) || !strings.Contains(err.Error(), "-provider acme") {
		t.Errorf("got error %v, want one that names the flag", err)
	}
	if err := served("", nil); err != nil {
		t.Errorf("got error %v, want none without providers", err)
	}
}

func TestSameFiles(t *testing.T) {
	file := func(name, data string) source.File { return source.File{Name: name, Data: []byte(data)} }
	attached := func(data string) []source.File {
		return []source.File{{Name: "a", Attachments: map[string][]byte{"files/f": []byte(data)}}}
	}
	for _, c := range []struct {
		name string
		a, b []source.File
		want bool
	}{
		{"none", nil, nil, true},
		{"the same", []source.File{file("a", "1")}, []source.File{file("a", "1")}, true},
		{"another text", []source.File{file("a", "1")}, []source.File{file("a", "2")}, false},
		{"another name", []source.File{file("a", "1")}, []source.File{file("b", "1")}, false},
		{"the same attachment", attached("1"), attached("1"), true},
		{"another attachment", attached("1"), attached("2"), false},
		{"one more", []source.File{file("a", "1")}, []source.File{file("a", "1"), file("b", "1")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := sameFiles(c.a, c.b); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestCompareDenials(t *testing.T) {
	server, engine := errors.New("by the server"), errors.New("by the engine")
	for _, c := range []struct {
		name            string
		denied, refused error
		want            []string
	}{
		{name: "admitted"},
		{"denied by the API server only", server, nil, []string{"it was denied, and the engine admits it: by the server"}},
		{"denied by the engine only", nil, engine, []string{"it was admitted, and the engine denies it: by the engine"}},
		{"denied by both", server, engine, []string{"it was denied: by the server"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSubject(t, `{"kind":"K","metadata":{"name":"a"}}`)
			s.refused = c.refused
			if got := s.compareDenials(c.denied); got != (len(c.want) > 0) {
				t.Errorf("got %v", got)
			}
			if !errors.Is(s.change.Denied, c.denied) {
				t.Errorf("shown as denied is %v, want %v", s.change.Denied, c.denied)
			}
			if diff := cmp.Diff(c.want, s.problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompareSecond(t *testing.T) {
	const stored = `{"kind":"K","metadata":{"name":"a"}}`
	same, changed := newSubject(t, stored), newSubject(t, stored)
	same.compareSecond(same.change, []byte(stored), nil)
	if len(same.problems) > 0 {
		t.Errorf("got the problems %v, want none", same.problems)
	}
	changed.change.Applied = []mutation.Applied{
		{Rule: "unchanged", Outcome: mutation.Unchanged},
		{Rule: "r", Outcome: mutation.Changed, Position: source.Position{File: "p.yaml", Line: 3, Column: 1}},
	}
	changed.compareSecond(changed.change, []byte(`{"kind":"K"}`), nil)
	if diff := cmp.Diff([]string{"rule r at p.yaml:3:1 would still change what was stored"}, changed.problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
