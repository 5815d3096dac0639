// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, data string
		// want are objects and findings, each with its place.
		want string
	}{
		{name: "an empty file has no objects", data: ""},
		{name: "documents with comments only have no objects", data: "# nothing\n---\n# here\n"},
		{
			name: "documents of a stream are separate objects", data: "# first\napiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: ns}\n---\n\nkind: Service\napiVersion: v1\nmetadata: {name: b}\n",
			want: "f:2:1 v1 Secret ns/a\nf:7:1 v1 Service /b",
		},
		{
			name: "a document after its separator", data: "--- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n--- # b\napiVersion: v1\nkind: Secret\nmetadata: {name: b}",
			want: "f:1:1 v1 Secret /a\nf:3:1 v1 Secret /b",
		},
		{name: "line endings of Windows", data: "apiVersion: v1\r\nkind: Secret\r\nmetadata: {name: a}\r\n---\r\napiVersion: v1\r\nkind: Secret\r\nmetadata: {name: b}\r\n",
			want: "f:1:1 v1 Secret /a\nf:5:1 v1 Secret /b"},
		{name: "a separator inside a text", data: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    ---\n    b\n", want: "f:1:1 v1 ConfigMap /a"},
		{
			name: "items of a List are objects", data: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n- {apiVersion: apps/v1, kind: Deployment, metadata: {name: b}}\n",
			want: "f:1:1 v1 Secret /a\nf:1:1 apps/v1 Deployment /b",
		},
		{name: "an empty list", data: "{apiVersion: v1, kind: List, items: []}"},
		{
			name: "documents in JSON", data: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}
 {"apiVersion":"v1","kind":"Secret","metadata":{"name":"b"}}`, want: "f:1:1 v1 Secret /a\nf:2:2 v1 Secret /b",
		},
		{name: "YAML that begins as JSON", data: "{apiVersion: v1, kind: Secret, metadata: {name: a}}", want: "f:1:1 v1 Secret /a"},
		{name: "items of a JSON array are objects", data: `[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}]`, want: "f:1:1 v1 Secret /a"},
		{name: "anchors and aliases are resolved", data: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: &x 1\ny: *x\n", want: "f:1:1 v1 ConfigMap /a"},
		{name: "a document without kind and apiVersion is refused", data: "a: 1\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n",
			want: "f:3:1 v1 Secret /a\nf:1:1: not an object of Kubernetes: apiVersion is missing"},
		{name: "an object without a name is refused", data: "apiVersion: v1\nkind: Secret\n", want: "f:1:1: not an object of Kubernetes: metadata.name is missing"},
		{name: "a name that YAML takes for a boolean", data: "---\napiVersion: v1\nkind: Secret\nmetadata: {name: n}\n",
			want: "f:2:1: not an object of Kubernetes: in metadata.name, a string is needed instead of true or false"},
		{name: "a scalar is refused", data: "hello", want: "f:1:1: not an object of Kubernetes: a mapping is needed instead of a string"},
		{name: "a key twice", data: "kind: Secret\napiVersion: v1\nmetadata: {name: a}\nkind: Service\n", want: "f:4:1: kind: duplicate key, first written in line 1"},
		{name: "a key twice below a list", data: "# a\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\nx:\n- {b: 1}\n- {b: 1, c: 2, b: 3}\n",
			want: "f:8:16: x[1].b: duplicate key, first written in line 8"},
		{name: "a key twice after a separator", data: "--- {apiVersion: v1, kind: Secret, kind: Secret, metadata: {name: a}}",
			want: "f:1:36: kind: duplicate key, first written in line 1"},
		{name: "a key twice in JSON", data: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}
 {"apiVersion":"v1","kind":"Secret","metadata":{"name":"b"},
  "x":[{"a":"é","b":{}}, {"é":"{\"b\":1,", "b":[1], "c": {"b": 2},
    "\u0062" : 3}]}`, want: "f:1:1 v1 Secret /a\nf:4:5: x[1].b: duplicate key, first written in line 3"},
		{name: "a key twice in a line of JSON", data: ` {"kind":"Secret","é":[],"apiVersion":"v1" ,"kind":"Service"}`,
			want: "f:1:45: kind: duplicate key, first written in line 1"},
		{name: "a key twice in a list of JSON", data: `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","name":"b"}}]}`,
			want: "f:1:101: items[0].metadata.name: duplicate key, first written in line 1"},
		{name: "a key twice in JSON that is no YAML", data: `{"apiVersion":"v1","x":"\ud83d\ude00","kind":"Secret","kind":"Secret","metadata":{"name":"a"}}`,
			want: "f:1:1: duplicate field \"kind\""},
		{name: "a key twice in JSON with tabs", data: "{\"apiVersion\":\"v1\",\n\t\"kind\":\"Secret\",\n\t\"kind\":\"Secret\"}",
			want: "f:3:2: kind: duplicate key, first written in line 2"},
		{name: "an empty key twice in JSON", data: `[{"":{"":1,"":2}}]`, want: "f:1:12: [0]..: duplicate key, first written in line 1"},
		{name: "a key next to a merge", data: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: &x {a: 1}\ny: {<<: *x, a: 2}\n", want: "f:1:1 v1 ConfigMap /a"},
		{name: "a tab as indentation is refused", data: "apiVersion: v1\nkind: Secret\nmetadata:\n\tname: a\n",
			want: "f:4:1: not YAML: the indentation contains a tab; use spaces only"},
		{name: "a file that is not YAML is refused", data: "\n\na: [\n", want: "f:3: not YAML: did not find expected node content"},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects, findings := manifest.Parse(source.File{Name: "f", Data: []byte(c.data)})
			var got []string
			for _, o := range objects {
				got = append(got, fmt.Sprintf("%s %s %s %s/%s", o.Position, o.APIVersion, o.Kind, o.Namespace, o.Name))
			}
			for _, finding := range findings {
				got = append(got, finding.Error())
			}
			if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("objects and findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJSONStaysAsItIs(t *testing.T) {
	const data = `{"kind": "Secret",  "metadata":{"name":"a"}, "apiVersion":"v1", "n": 1.50}`
	objects, findings := manifest.Parse(source.File{Data: []byte(data)})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(data, string(objects[0].JSON)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

func TestRead(t *testing.T) {
	folder := t.TempDir()
	object := func(name string) string {
		return "{apiVersion: v1, kind: Secret, metadata: {name: " + name + "}}"
	}
	for path, text := range map[string]string{
		"b.yaml": object("b"), "a/c.yml": object("c"), "d.json": `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"d"}}`,
		"README.md": "no manifest", ".hidden/x.yaml": "no: manifest", ".y.yaml": "no: manifest", "plain": object("plain"),
	} {
		path = filepath.Join(folder, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := manifest.Read([]string{"-", folder, filepath.Join(folder, "plain")}, strings.NewReader(object("stdin")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, o.Name)
	}
	if diff := cmp.Diff([]string{"stdin", "c", "b", "d", "plain"}, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}

	if _, err := manifest.Read([]string{"-", "-"}, strings.NewReader("")); !errors.Is(err, manifest.ErrTwiceStdin) {
		t.Errorf("got error %v, want that standard input is read once", err)
	}
	if _, err := manifest.Read([]string{filepath.Join(folder, "none")}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v, want that there is no such file", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a: 1\n---\nb: 2")
	f.Add("a:\n\tb: 1\n--- {a: 1, a: 2}")
	f.Add("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: b, a: c}\ndata: {a: d}\n")
	f.Add(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","name":"b"},"data":{"a":"b"},"data":{"a":"c"}}`)
	f.Add(`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}]}`)
	f.Fuzz(func(t *testing.T, data string) {
		objects, findings := manifest.Parse(source.File{Name: "f", Data: []byte(data)})
		lines := strings.Count(data, "\n") + 1
		for _, o := range objects {
			if o.Kind == "" || o.Name == "" || o.APIVersion == "" {
				t.Errorf("%s is not an object", o.JSON)
			}
			if o.Position.Line < 1 || o.Position.Line > lines {
				t.Errorf("the object is at line %d of %d", o.Position.Line, lines)
			}
		}
		for _, finding := range findings {
			if finding.Line < 1 || finding.Line > lines {
				t.Errorf("the finding is at line %d of %d", finding.Line, lines)
			}
		}
	})
}

// TestReadRefuses checks that links in a folder must stay inside and lead to regular files, and that named files are
// always read.
func TestReadRefuses(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, "in", name) }
	object := []byte("{apiVersion: v1, kind: Secret, metadata: {name: a}}")
	if err := errors.Join(os.MkdirAll(at("deep"), 0o755), os.WriteFile(filepath.Join(base, "outside.yaml"), object, 0o600),
		os.WriteFile(at("a.yaml"), object, 0o600), os.Symlink("../a.yaml", at("deep/inside.yaml")), syscall.Mkfifo(at("pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if objects, err := manifest.Read([]string{at("")}, nil); err != nil || len(objects) != 2 {
		t.Errorf("a link that stays inside: %d objects, %v", len(objects), err)
	}
	for name, test := range map[string]struct{ target, want string }{
		"outside.yaml": {"../../outside.yaml", "leads out of the folder"}, "zero.yaml": {"/dev/zero", "leads out of the folder"},
		"pipe.yaml": {"../pipe", "it is a pipe"}, "loop.yaml": {"loop.yaml", "too many levels of symbolic links"},
	} {
		link := at("deep/" + name)
		if err := os.Symlink(test.target, link); err != nil {
			t.Fatal(err)
		}
		if _, err := manifest.Read([]string{at("")}, nil); err == nil || !strings.Contains(err.Error(), link+": ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "outside.yaml" {
			if objects, err := manifest.Read([]string{link}, nil); err != nil || len(objects) != 1 {
				t.Errorf("a link that is named: %d objects, %v", len(objects), err)
			}
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(at("pipe"), object, 0o600) }()
	if objects, err := manifest.Read([]string{at("pipe")}, nil); err != nil || len(objects) != 1 || <-wrote != nil {
		t.Errorf("a pipe that is named: %d objects, %v", len(objects), err)
	}
}
