// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package fieldpath

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text, want string
		steps      Path
	}{
		{"spec", "spec", Path{{Key: "spec"}}},
		{"spec.a-b_c.d/e", "spec.a-b_c.d/e", Path{{Key: "spec"}, {Key: "a-b_c"}, {Key: "d/e"}}},
		{`data["a.b"]`, `data["a.b"]`, Path{{Key: "data"}, {Key: "a.b"}}},
		{`["data"]["x"].y`, "data.x.y", Path{{Key: "data"}, {Key: "x"}, {Key: "y"}}},
		{`a["x\"]\u00fc"]`, `a["x\"]ü"]`, Path{{Key: "a"}, {Key: `x"]ü`}}},
		{"l[name=x].y", "l[name=x].y", Path{{Key: "l"}, {Key: "x", By: "name"}, {Key: "y"}}},
		{`l[name="x"]`, `l[name="x"]`, Path{{Key: "l"}, {Key: "x", By: "name", Quoted: true}}},
		{`l[name=""]`, `l[name=""]`, Path{{Key: "l"}, {Key: "", By: "name", Quoted: true}}},
		{"l[0].x", "l[0].x", Path{{Key: "l"}, {Key: "0", Position: true}, {Key: "x"}}},
		{"l[path=/a.b/c d]", "l[path=/a.b/c d]", Path{{Key: "l"}, {Key: "/a.b/c d", By: "path"}}},
	} {
		t.Run(test.text, func(t *testing.T) {
			got, err := Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.steps, got); diff != "" {
				t.Error(diff)
			}
			if got.String() != test.want {
				t.Errorf("is written as %s", got)
			}
		})
	}
	if _, err := Parse(strings.Repeat("a.", MaximumSteps) + "a"); err == nil {
		t.Error("a path without an end is accepted")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"spec.a", `data["a.b"].c`, "l[name=x].y", `l[n="\"]"]`, "a[0]", "a[00]", "a[", "a..b", `a["`, "a[b=c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(p.String())
		if err != nil {
			t.Fatalf("%q is written as %q, which is not a path: %v", text, p, err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatalf("%q is written as %q, which parses to a different path:\n%s", text, p, diff)
		}
		p.In(map[string]any{"a": map[string]any{"b": "text"}, "l": []any{map[string]any{"name": "x"}, nil}}) // any object
	})
}

// TestIn checks the values at paths in decoded JSON.
func TestIn(t *testing.T) {
	value := map[string]any{
		"a.b": "dotted", "list": []any{map[string]any{"name": "x", "limit": int64(1)}, map[string]any{"port": int64(443)}, "plain"},
		"none": nil, "numbers": []any{map[string]any{"port": 8080.0}, map[string]any{"port": json.Number("53")}},
	}
	for text, want := range map[string]any{
		`["a.b"]`: "dotted", "list[name=x].limit": int64(1), "list[name=y]": nil, "list[2]": "plain", "list[3]": nil,
		"list[port=443].port": int64(443), `list[port="443"].port`: int64(443), "numbers[port=8080].port": 8080.0, "numbers[port=53].port": json.Number("53"),
		"none": nil, "none.below": nil, "list.name": nil, "a": nil, "list[2].name": nil, "numbers[0][0]": nil,
	} {
		path, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := path.In(value); got != want {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
}
