// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package fieldpath

import (
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
	})
}
