// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

const before = `{"kind":"K","metadata":{"name":"n"},"spec":{"containers":[{"name":"a","command":["--a","--b","--c","--d","--e"]}],"replicas":1}}`

func become(t *testing.T, after ...string) *render.Change {
	t.Helper()
	change, err := render.NewChange([]byte(before))
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range after {
		by := render.Author{Rule: "t[0].flags", Profile: "p", Position: source.Position{File: "/far/away/folder/p.yaml", Line: 7, Column: 3}}
		if err := change.Become(by, []byte(state)); err != nil {
			t.Fatal(err)
		}
	}
	return change
}

func TestWrite(t *testing.T) {
	after := strings.NewReplacer(`"--c",`, `"--c=1",`, `"replicas":1`, `"replicas":2`).Replace(before)
	for _, c := range []struct {
		name  string
		style render.Style
		want  string
	}{
		{"the innermost line that stayed is the heading", render.Style{}, `
K n                                             changed by no rule
  spec.containers[a].command
    --b
  - --c                                         folder/p.yaml:7 flags
  + --c=1
    --d
  spec
  - replicas: 1                                 folder/p.yaml:7 flags
  + replicas: 2

1 object changed
`},
		{"more context", render.Style{Context: 2}, `
K n                                             changed by no rule
  spec.containers[a].command
    --a
    --b
  - --c                                         folder/p.yaml:7 flags
  + --c=1
    --d
    --e
  spec
  - replicas: 1                                 folder/p.yaml:7 flags
  + replicas: 2

1 object changed
`},
		{"no context, own names of files", render.Style{Context: -1, File: func(string) string { return "P" }}, `
K n                                             changed by no rule
  spec.containers[a].command
  - --c                                         P:7 flags
  + --c=1
  spec
  - replicas: 1                                 P:7 flags
  + replicas: 2

1 object changed
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := c.style.Write(&out, become(t, after)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWriteSnapshots checks that changes of several control planes are grouped under their titles.
func TestWriteSnapshots(t *testing.T) {
	one, two, same := become(t, strings.Replace(before, `"replicas":1`, `"replicas":2`, 1)), become(t), become(t)
	one.ControlPlane, two.ControlPlane, same.ControlPlane = "1.33", "1.34", "1.34"
	two.Denied = errBroken
	for name, want := range map[string]string{
		"text": `1.33

K n                                             changed by no rule
  spec
  - replicas: 1                                 folder/p.yaml:7 flags
  + replicas: 2

1.34

K n                                             denied
    broken

1 object has no rule and stays unchanged
  K n

1 object changed, 1 unchanged, 1 denied
`,
	} {
		t.Run(name, func(t *testing.T) {
			format, err := render.Find(render.Differences(), name)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := format.Write(render.Style{}, &out, one, two, same); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
	for _, format := range []string{"json", "markdown", "html"} {
		found, err := render.Find(render.Differences(), format)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := found.Write(render.Style{}, &out, one, two, same); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "1.33") || !strings.Contains(out.String(), "1.34") {
			t.Errorf("%s does not say of which control planes the objects are:\n%s", format, &out)
		}
	}
}

// TestWriteDenied checks that a denied object is not listed as an object without rules, and keeps its rules.
func TestWriteDenied(t *testing.T) {
	denied, half, other := become(t), become(t, strings.Replace(before, `"replicas":1`, `"replicas":2`, 1)), become(t)
	denied.Denied, half.Denied = errors.New("rule r at p.yaml:7:\nthere is no x"), errBroken
	var out bytes.Buffer
	if err := (render.Style{}).Write(&out, denied, half, other); err != nil {
		t.Fatal(err)
	}
	const want = `K n                                             denied
    rule r at p.yaml:7:
    there is no x

K n                                             denied
    broken
  spec
  - replicas: 1                                 folder/p.yaml:7 flags
  + replicas: 2

1 object has no rule and stays unchanged
  K n

nothing changes, 2 denied
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestWriteColours(t *testing.T) {
	change := become(t)
	if err := change.Become(render.NoRule, []byte(strings.Replace(before, `"--c",`, "", 1))); err != nil {
		t.Fatal(err)
	}
	var plain, coloured bytes.Buffer
	if err := (render.Style{}).Write(&plain, change); err != nil {
		t.Fatal(err)
	}
	if err := (render.Style{Colour: true}).Write(&coloured, change); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") {
		t.Errorf("want no colour, got %q", plain.String())
	}
	for _, want := range []string{"\x1b[31m  - --c\x1b[0m", "\x1b[1;31mno rule\x1b[0m"} {
		if !strings.Contains(coloured.String(), want) {
			t.Errorf("got %q, want it to hold %q", coloured.String(), want)
		}
	}
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestWriteFails(t *testing.T) {
	if err := (render.Style{}).Write(broken{}, become(t)); !errors.Is(err, errBroken) {
		t.Errorf("got error %v, want %v", err, errBroken)
	}
}
