// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{
			name: "order, server side fields and quotes",
			in: `{"status":{"x":1},"spec":{"b":"true","a":true,"n":1.50,"z":null,"e":{},"l":[],"t":"","u":"a: b"},"kind":"K","apiVersion":"v1",
				"metadata":{"uid":"u","name":"n","managedFields":[{}],"resourceVersion":"1","generation":2,"creationTimestamp":null}}`,
			want: `
apiVersion: v1
kind: K
metadata:
  name: n
spec:
  a: true
  b: "true"
  e: {}
  l: []
  n: 1.50
  t: ""
  u: "a: b"
  z: null
`,
		},
		{
			name: "a command line is one flag a line",
			in:   `{"containers":[{"name":"c","image":"i","command":["/bin/c","--a=b","--c","d","--bare","--e="," ",""],"args":["-x","--y"]}]}`,
			want: `
containers:
  - name: c
    args:
      -x
      --y
    command:
      /bin/c
      --a=b
      --c d
      --bare
      --e=
      " "
      ""
    image: i
`,
		},
		{
			name: "items of lists",
			in: `{"ports":[{"containerPort":80,"name":"http"}],"scalars":["a",1,"1"],"nested":[[1,[2]]],
				"long":[{"effect":"an effect that is too long for one line, by far and beyond all measure","x":{"y":["z"]},"operator":"o"}]}`,
			want: `
long:
  - effect: an effect that is too long for one line, by far and beyond all measure
    operator: o
    x:
      y:
        - z
nested:
  - [1, [2]]
ports:
  - {name: http, containerPort: 80}
scalars:
  - a
  - 1
  - "1"
`,
		},
		{
			name: "texts of several lines",
			in:   `{"units":[{"name":"u","content":"[Unit]\nA=b\n\n[Service]\n"}],"command":["sh","-c","a\n  b"],"list":["x\ny"]}`,
			want: `
command:
  sh
  -c |
    a
      b
list:
  - |
    x
    y
units:
  - name: u
    content: |
      [Unit]
      A=b

      [Service]
`,
		},
		{
			name: "content of files",
			in: `{"kind":"OperatingSystemConfig","spec":{"files":[
				{"path":"/a","content":{"inline":{"encoding":"b64","data":"YQpiCg=="}}},
				{"path":"/b","content":{"inline":{"encoding":"","data":"c\nd"}}},
				{"path":"/c","content":{"inline":{"encoding":"b64","data":"no base64, and a value that makes the item too long for a line"}}}]}}`,
			want: `
kind: OperatingSystemConfig
spec:
  files:
    - path: /a
      content:
        inline: |
          a
          b
    - path: /b
      content:
        inline: |
          c
          d
    - path: /c
      content:
        inline:
          data: no base64, and a value that makes the item too long for a line
          encoding: b64
`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines, err := render.Text([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, line := range lines {
				got = append(got, strings.TrimRight(strings.Repeat("  ", line.Depth)+line.Text, " "))
			}
			if diff := cmp.Diff(strings.Split(strings.Trim(c.want, "\n"), "\n"), got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTextPaths(t *testing.T) {
	lines, err := render.Text([]byte(`{"spec":{"containers":[{"name":"c","command":["/c","--a=b"],"resources":{"limits":{"memory":"1Gi"}}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range lines {
		got = append(got, line.Path)
	}
	want := []string{
		"spec", "spec.containers", "spec.containers[c]", "spec.containers[c].command", "spec.containers[c].command[]",
		"spec.containers[c].command[--a]", "spec.containers[c].resources", "spec.containers[c].resources.limits",
		"spec.containers[c].resources.limits.memory",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func TestTextErrors(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     error
	}{
		{"no JSON", `{"a":`, document.ErrSyntax},
		{"a key twice", `{"a":1,"a":2}`, document.ErrDuplicateKey},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := render.Text([]byte(c.in)); !errors.Is(err, c.want) {
				t.Errorf("got error %v, want %v", err, c.want)
			}
			if _, err := render.NewChange([]byte(c.in)); !errors.Is(err, c.want) {
				t.Errorf("got error %v of NewChange, want %v", err, c.want)
			}
		})
	}
	for _, in := range []string{`{}`, `[]`, `{"kind":"K"}`, `{"metadata":{"name":"n"}}`} {
		if _, err := render.NewChange([]byte(in)); !errors.Is(err, render.ErrNoObject) {
			t.Errorf("NewChange(%s): got error %v, want %v", in, err, render.ErrNoObject)
		}
	}
}

// FuzzText looks for panics, and for lines that could not be written one under the other.
func FuzzText(f *testing.F) {
	f.Add([]byte(`{"kind":"OperatingSystemConfig","spec":{"files":[{"path":"/a","content":{"inline":{"data":"a\nb"}}}]}}`))
	f.Add([]byte(`{"containers":[{"name":"c","command":["--a","b\nc",""]}],"x":[[],{},[{}],null,"a\r\nb"]}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		lines, err := render.Text(object)
		if err != nil {
			return
		}
		for i, line := range lines {
			if strings.ContainsAny(line.Text, "\n") || line.Depth < 0 || i > 0 && line.Depth > lines[i-1].Depth+2 {
				t.Errorf("line %d is %+v", i, line)
			}
		}
	})
}
