// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// few are objects of a control plane with all kinds of output: a command line, a field, units and files, skipped rules
// only, and an object without rules.
var few = []string{"kube-controller-manager", "etcd-main", "gardener-node-agent-general-56b95483c45b6c9b-original", "kube-scheduler"}

// admitted are the objects of these names, or all, of a control plane under the OpenStack profile; one more is denied.
func admitted(t testing.TB, names ...string) []*render.Change {
	t.Helper()
	all, err := sample.ControlPlane(t.Context(), sample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	changes := slices.DeleteFunc(admit(t, openstack, sample.Options{}, contract.Today, all), func(c *render.Change) bool {
		return len(names) > 0 && (!slices.Contains(names, c.Name) || c.Kind == "VerticalPodAutoscaler")
	})
	denied, err := render.NewChange([]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"broken","namespace":"shoot--local--sample"}}`))
	if err != nil {
		t.Fatal(err)
	}
	denied.Denied = &mutation.Failure{Reason: mutation.ContainerMissing, Message: "the object has no container kube-scheduler"}
	return append(changes, denied)
}

// assets are the embedded parts of an HTML report.
var assets = regexp.MustCompile(`(?s)(<style>).*?(</style>)|(<script>).*?(</script>)|sha256-[A-Za-z0-9/=]+(&#43;[A-Za-z0-9/=]+)*`)

// TestFormats checks the output in each format.
func TestFormats(t *testing.T) {
	changes := admitted(t, few...)
	style := render.Style{Title: "OpenStack", About: []render.Fact{{Name: "Kubernetes", Value: "1.34"}}}
	for folder, formats := range map[string][]render.Format{"difference": render.Differences(), "objects": render.Objects()} {
		for _, format := range formats {
			t.Run(folder+"/"+format.Name, func(t *testing.T) {
				var out, again bytes.Buffer
				if err := errors.Join(format.Write(style, &out, changes...), format.Write(style, &again, changes...)); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(out.Bytes(), again.Bytes()) {
					t.Error("the same changes have other bytes the second time")
				}
				golden.Compare(t, filepath.Join("testdata", folder, "openstack."+format.Name), assets.ReplaceAllString(out.String(), "$1$2$3$4"))
				if err := format.Write(style, broken{}, changes...); !errors.Is(err, errBroken) {
					t.Errorf("got error %v, want %v", err, errBroken)
				}
				if err := format.Write(style, io.Discard); err != nil {
					t.Errorf("writing no changes: %v", err)
				}
			})
		}
	}
}

// TestObjectsAreReadBackUnchanged checks that the objects of a whole control plane are read back unchanged.
func TestObjectsAreReadBackUnchanged(t *testing.T) {
	changes := admitted(t)
	var asYAML, asJSON bytes.Buffer
	if err := errors.Join(render.Style{}.ObjectsYAML(&asYAML, changes...), render.Style{}.ObjectsJSON(&asJSON, changes...)); err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []any }
	if err := json.Unmarshal(asJSON.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	texts := strings.Split("\n"+asYAML.String(), "\n---\n")
	if len(texts) != len(changes) || len(list.Items) != len(changes) {
		t.Fatalf("got %d documents and %d items, want %d", len(texts), len(list.Items), len(changes))
	}
	for i, change := range changes {
		var want, got any
		if err := errors.Join(json.Unmarshal(change.Bytes(), &want), yaml.Unmarshal([]byte(texts[i]), &got)); err != nil {
			t.Fatal(err)
		}
		for form, got := range map[string]any{"YAML": got, "JSON": list.Items[i]} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s as %s (-want +got):\n%s", change.Kind, change.Name, form, diff)
			}
		}
	}
}

// TestYAMLReadsBack checks that texts that YAML, or an older version of it, could misread are read back, and that no
// file name ends a comment.
func TestYAMLReadsBack(t *testing.T) {
	texts := []string{
		"", " ", "yes", "n", "On", "~", "null", "1", "1e3", "0x1F", "1:20", "2001-01-01", "=", "<<", "- a", "a: b", "#a", "a #b", "'a", "\"a", "{a", "%a",
		"a\nb", "a\nb\n\n", " a\nb", "a \nb", "\ta\nb", "a\r\nb", "a\rb: c", "\u2028a\nb", "*a", "&a", "!a", "|", ">", "---", "---\na", "\x01", "ünïcode", "\ufeffa",
	}
	object := map[string]any{"apiVersion": "v1", "kind": "OperatingSystemConfig", "metadata": map[string]any{"name": "n"}}
	members, files := map[string]any{}, []any{}
	for _, text := range texts {
		members["x"+text] = text
		members[text] = []any{text}
		files = append(files, map[string]any{"content": map[string]any{"inline": map[string]any{
			"encoding": "b64", "data": base64.StdEncoding.EncodeToString([]byte(text + "\nx: 1\rx: 2\n")),
		}}})
	}
	object["spec"] = map[string]any{"files": files, "members": members}
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	readsBack(t, raw)
}

// readsBack checks that an object which is written as YAML is read as it was.
func readsBack(t *testing.T, raw []byte) {
	t.Helper()
	change, err := render.NewChange(raw)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (render.Style{}).ObjectsYAML(&out, change); err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := errors.Join(json.Unmarshal(raw, &want), yaml.Unmarshal(out.Bytes(), &got)); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the object (-want +got):\n%s\n%s", diff, &out)
	}
}

func TestFind(t *testing.T) {
	var names []string
	for _, format := range render.Objects() {
		names = append(names, format.Name)
		if format.Summary == "" {
			t.Errorf("%s has no summary", format.Name)
		}
	}
	if diff := cmp.Diff([]string{"yaml", "json"}, names); diff != "" {
		t.Errorf("formats of objects (-want +got):\n%s", diff)
	}
	_, err := render.Find(render.Differences(), "xml")
	if want := `there is no output format "xml"; there are text, json, markdown, html`; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

func BenchmarkFormats(b *testing.B) {
	changes := admitted(b)
	for _, format := range render.Differences() {
		b.Run(format.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := format.Write(render.Style{}, io.Discard, changes...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzYAMLReadsBack writes any text as a key, a value and a file in base64, and reads it back.
func FuzzYAMLReadsBack(f *testing.F) {
	for _, text := range []string{"", "yes", "\ta\nb", " a\n\nb \n\n", "a\rb\u2028\u0085\n", "---\n...\n# a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw, err := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "OperatingSystemConfig", "metadata": map[string]any{"name": "n"}, "members": map[string]any{text: []any{text, text}},
			"spec": map[string]any{"files": []any{map[string]any{"content": map[string]any{"inline": map[string]any{
				"encoding": "b64", "data": base64.StdEncoding.EncodeToString([]byte(text + "\n\n")),
			}}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		readsBack(t, raw)
	})
}
