// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/objects"
)

// writing are rules that each leave a value on an Etcd.
const writing = `
lookups: {s: {secret: s, keys: [k]}}
controlplane:
  etcd-main:
  - labels: {set: {new: a, other: b}, remove: [gone]}
  - annotations: {set: {region: "${ lookups.s.k }"}}
  - fields: {set: {spec.etcd.quota: 9Gi}}
    override: for the test
  - storage: {class: fast}
`

const etcdBefore = `{"apiVersion":"druid.gardener.cloud/v1alpha1","kind":"Etcd","metadata":{"name":"etcd-main","namespace":"shoot--x--y",` +
	`"labels":{"other":"theirs","gone":"once"},"annotations":{"region":"old"}},"spec":{"etcd":{"quota":"8Gi"},"replicas":1}}`

// TestRestoredAfterRuleIsRemoved checks the restored values of an Etcd for each way to remove rules.
func TestRestoredAfterRuleIsRemoved(t *testing.T) {
	original := `{"gone":"once","other":"theirs"} {} {"quota":"8Gi"}`
	for name, test := range map[string]struct {
		after string
		// meanwhile changes the object between the first admission and the removal of the rules.
		meanwhile func(string) string
		want      string
	}{
		"the profile is retired":        {after: "retired: true\n" + writing, want: original},
		"the profile is only observed":  {after: "mode: observe\n" + writing, want: original},
		"a rule is observed":            {after: strings.Replace(writing, "- fields", "- mode: observe\n    fields", 1), want: `{"new":"a","other":"b"} {"region":"s3cr3t"} {"quota":"8Gi"}`},
		"a condition is false":          {after: strings.Replace(writing, "- fields", "- when: ${ operation == \"x\" }\n    fields", 1), want: `{"new":"a","other":"b"} {"region":"s3cr3t"} {"quota":"9Gi"}`},
		"the rule has another value":    {after: strings.Replace(writing, "9Gi", "10Gi", 1), want: `{"new":"a","other":"b"} {"region":"s3cr3t"} {"quota":"10Gi"}`},
		"no rule is removed":            {after: writing, want: `{"new":"a","other":"b"} {"region":"s3cr3t"} {"quota":"9Gi"}`},
		"another client changed a part": {after: "retired: true\n" + writing, meanwhile: func(s string) string { return strings.Replace(s, "9Gi", "7Gi", 1) }, want: `{"gone":"once","other":"theirs"} {} {"quota":"7Gi"}`},
		"another client removed the record": {
			after: "retired: true\n" + writing, meanwhile: func(s string) string { return strings.Replace(s, "/written-", "/lost-", 1) }, want: original,
		},
	} {
		t.Run(name, func(t *testing.T) {
			written := taken(t, writing, []byte(etcdBefore), nil)
			if strings.Contains(annotationsOf(t, written)["graft.provider.extensions.gardener.cloud/written-controlplane"], "s3cr3t") {
				t.Errorf("the record contains a value of a Secret: %s", written)
			}
			now := written
			if test.meanwhile != nil {
				now = []byte(test.meanwhile(string(written)))
			}
			after := taken(t, test.after, now, written)
			if diff := cmp.Diff(test.want, summary(t, after)); diff != "" {
				t.Errorf("labels, annotations and etcd (-want +got):\n%s", diff)
			}
			if !bytes.Contains(after, []byte(`"storageClass":"fast"`)) {
				t.Errorf("the immutable storage class was restored: %s", after)
			}
			if test.want == original && (bytes.Contains(after, []byte("/written-")) || bytes.Contains(after, []byte("/mutated-by-"))) {
				t.Errorf("the record or the mark stays: %s", after)
			}
		})
	}
}

// TestOldestValueIsRestoredAfterChanges checks that the value from before all rules is restored after several changes of a rule.
func TestOldestValueIsRestoredAfterChanges(t *testing.T) {
	object := []byte(etcdBefore)
	for _, quota := range []string{"9Gi", "10Gi", "11Gi"} {
		object = taken(t, strings.Replace(writing, "9Gi", quota, 1), object, object)
	}
	object = taken(t, "retired: true\n"+writing, object, object)
	if got := summary(t, object); !strings.Contains(got, "8Gi") {
		t.Errorf("got %s", got)
	}
}

// TestForeignRecords checks that foreign changes of the record do no harm.
func TestForeignRecords(t *testing.T) {
	for _, text := range []string{
		`x`, `[]`, `{}`, `{"a":1}`, `{"metadata.name":{"wrote":"-","before":"other"}}`, `{"spec.storageClass":{"wrote":"-","before":"x"}}`,
		`{"spec.selector":{"wrote":"-","before":{}}}`, `{"[":{"wrote":"-"}}`, `{"metadata":{"wrote":"-","before":{}}}`, `{"status.x":{"wrote":"-","before":1}}`,
		`{"yaml \"status\" x":{"wrote":"-","before":1}}`, `{"json b64 \"spec.selector\" x":{"wrote":"-","before":1}}`, `{"spec.selector[+ 00000000]":{"wrote":"-","before":1}}`,
		`{"spec[0]":{"wrote":"-","before":1}}`, `{"spec.a[0]":{"wrote":"-","before":1}}`, `{"yaml \"spec.a\" [":{"wrote":"-","before":1}}`,
	} {
		object := strings.Replace(etcdBefore, `"region":"old"`,
			`"region":"old","graft.provider.extensions.gardener.cloud/written-controlplane":"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)+`"`, 1)
		after := string(taken(t, "retired: true\n"+writing, []byte(object), nil))
		if !strings.Contains(after, `"name":"etcd-main"`) || strings.Contains(after, "storageClass") || strings.Contains(after, "selector") || strings.Contains(after, "status") {
			t.Errorf("%s: %s", text, after)
		}
	}
}

// taken takes the object through a profile, twice.
func taken(t *testing.T, rules string, object, old []byte) []byte {
	t.Helper()
	program, _ := programsOf(t, compiler.Options{Mark: true}, map[string]string{"p": rules})
	request := mutation.Request{
		Set: target.ControlPlane, Provider: "acme", Operation: "UPDATE", Namespace: "shoot--x--y", Name: "etcd-main",
		Group: "druid.gardener.cloud", Version: "v1alpha1", Kind: "Etcd", Object: object, OldObject: old,
	}
	source := &facts.Static{Objects: objects.Of(map[string]map[string]string{"s": {"k": "s3cr3t"}}, nil)}
	result, err := program.Admit(t.Context(), request, source)
	if err != nil {
		t.Fatal(err)
	}
	if result.Patch == nil {
		return object
	}
	request.Object = golden.Apply(t, object, result.Patch)
	if again, err := program.Admit(t.Context(), request, source); err != nil || again.Patch != nil {
		t.Errorf("a second time: %s, %v", again.Patch, err)
	}
	return request.Object
}

// summary returns the values that rules write, without Graft's annotations.
func summary(t *testing.T, object []byte) string {
	t.Helper()
	var read struct {
		Metadata struct {
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Spec struct {
			Etcd map[string]string `json:"etcd"`
		} `json:"spec"`
	}
	unmarshal(t, object, &read)
	for key := range read.Metadata.Annotations {
		if strings.HasPrefix(key, "graft.") {
			delete(read.Metadata.Annotations, key)
		}
	}
	return marshal(t, read.Metadata.Labels) + " " + marshal(t, read.Metadata.Annotations) + " " + marshal(t, read.Spec.Etcd)
}

func unmarshal(t *testing.T, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

func marshal(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestLongRecords checks that a record that would be too long to read is not written, so that admissions become stable.
func TestLongRecords(t *testing.T) {
	var rules strings.Builder
	rules.WriteString("controlplane:\n  etcd-main:\n  - annotations:\n      set:\n")
	for i := range 1200 {
		fmt.Fprintf(&rules, "        example.com/%s-%d: a\n", strings.Repeat("x", 40), i)
	}
	after := taken(t, rules.String(), []byte(etcdBefore), nil)
	if !bytes.Contains(after, []byte("-1199")) || bytes.Contains(after, []byte("/written-")) {
		t.Errorf("got %d bytes, with a record: %t", len(after), bytes.Contains(after, []byte("/written-")))
	}
}
