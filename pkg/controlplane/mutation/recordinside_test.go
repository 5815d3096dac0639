// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inside are rules that write into documents and lists.
const inside = `
controlplane:
  etcd-main:
  - document: {at: spec.text, set: {leader.elect: true, "rules[name=a].limit": 5}, append: {namespaces: [monitoring, kube-system]}, remove: [gone]}
  - document: {at: spec.json, format: json, encoding: b64, set: {x.y: 1}, append: {list: [{name: b}]}}
  - document: {at: spec.tree, set: {x: 1}}
  - fields: {set: {spec.replicas: 3, "spec.pairs[k=v].l": w}, append: {spec.items: [b, z]}}
    override: for the test
`

const insideText = "# kept\nleader:\n  elect: false # why\ngone: {a: 1}\nnamespaces:\n- kube-system\nrules:\n- name: a\n  limit: 4\n"

func insideBefore() string {
	return `{"apiVersion":"druid.gardener.cloud/v1alpha1","kind":"Etcd","metadata":{"name":"etcd-main","namespace":"shoot--x--y"},"spec":{` +
		`"text":` + quoted(insideText) + `,"json":"` + base64.StdEncoding.EncodeToString([]byte(`{"x": {"y": 0}, "list": []}`)) + `","tree":{"x":0,"z":0},` +
		`"replicas":1,"items":["a","b"],"pairs":[{"k":"v"}]}}`
}

func quoted(text string) string {
	return `"` + strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(text) + `"`
}

// insideOf returns the values that rules write, with decoded documents.
func insideOf(t *testing.T, object []byte) map[string]any {
	t.Helper()
	var read struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Spec map[string]any `json:"spec"`
	}
	unmarshal(t, object, &read)
	text, err := base64.StdEncoding.DecodeString(read.Spec["json"].(string))
	if err != nil {
		t.Fatal(err)
	}
	read.Spec["json"] = string(text)
	if len(read.Metadata.Annotations) > 0 {
		read.Spec["noted"] = true
	}
	return read.Spec
}

// TestRestoredInDocumentsAndLists checks that values in documents and lists are restored, and everything else in them stays.
func TestRestoredInDocumentsAndLists(t *testing.T) {
	before := []byte(insideBefore())
	written := taken(t, inside, before, nil)
	want := map[string]any{
		"text": "# kept\nleader:\n  elect: true # why\nnamespaces:\n- kube-system\n- monitoring\nrules:\n- name: a\n  limit: 5\n",
		"json": `{"x": {"y": 1}, "list": [{"name":"b"}]}`, "tree": map[string]any{"x": 1.0, "z": 0.0},
		"replicas": 3.0, "items": []any{"a", "b", "z"}, "pairs": []any{map[string]any{"k": "v", "l": "w"}}, "noted": true,
	}
	if diff := cmp.Diff(want, insideOf(t, written)); diff != "" {
		t.Fatalf("written (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, insideOf(t, taken(t, inside, written, written))); diff != "" {
		t.Errorf("written again (-want +got):\n%s", diff)
	}

	back := insideOf(t, before)
	back["text"] = "# kept\nleader:\n  elect: false # why\nnamespaces:\n- kube-system\nrules:\n- name: a\n  limit: 4\ngone:\n  a: 1\n"
	back["json"] = `{"x": {"y": 0}, "list": []}`
	if diff := cmp.Diff(back, insideOf(t, taken(t, "retired: true\n"+inside, written, written))); diff != "" {
		t.Errorf("retired (-want +got):\n%s", diff)
	}

	meanwhile := strings.Replace(strings.Replace(string(written), `limit: 5`, `limit: 7`, 1), `"replicas":3`, `"replicas":4`, 1)
	back["text"], back["replicas"] = strings.Replace(back["text"].(string), "limit: 4", "limit: 7", 1), 4.0
	if diff := cmp.Diff(back, insideOf(t, taken(t, "retired: true\n"+inside, []byte(meanwhile), written))); diff != "" {
		t.Errorf("retired, and somebody changed a part (-want +got):\n%s", diff)
	}
}

// TestOnlyPlacesWithoutRuleAreRestored checks that only places without a rule are restored, and that a false condition restores nothing.
func TestOnlyPlacesWithoutRuleAreRestored(t *testing.T) {
	written := taken(t, inside, []byte(insideBefore()), nil)
	want := insideOf(t, written)
	skipped := strings.ReplaceAll(inside, "  - ", "  - when: ${ operation == \"x\" }\n    ")
	if diff := cmp.Diff(want, insideOf(t, taken(t, skipped, written, written))); diff != "" {
		t.Errorf("no condition holds (-want +got):\n%s", diff)
	}
	less := strings.Replace(strings.Replace(inside, "leader.elect: true, ", "", 1), "monitoring, kube-system", "kube-system, other", 1)
	want["text"] = "# kept\nleader:\n  elect: false # why\nnamespaces:\n- kube-system\n- other\nrules:\n- name: a\n  limit: 5\n"
	if diff := cmp.Diff(want, insideOf(t, taken(t, less, written, written))); diff != "" {
		t.Errorf("less is written (-want +got):\n%s", diff)
	}
}
