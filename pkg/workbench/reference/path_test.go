// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/docs/schema"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
)

func TestAt(t *testing.T) {
	s, err := ParseSchema(schema.ProviderProfile)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want, kind, err string }{
		{path: "", want: "", kind: "mapping"},
		{path: "metadata.name", want: "metadata.name", kind: "string"},
		{path: "lookups.keys", want: "lookups.<name>.keys[]", kind: "list of strings"},
		{path: "lookups.any.keys", want: "lookups.<name>.keys[]", kind: "list of strings"},
		{path: `lookups."a.b".keys[]`, want: "lookups.<name>.keys[]", kind: "list of strings"},
		{path: "lookups", want: "lookups", kind: "mapping of names to mappings"},
		{path: "lookups.any", want: "lookups.<name>", kind: "mapping"},
		{path: "controlplane.kubelet", want: "controlplane.kubelet[]", kind: "list of any value"},
		{path: "controlplane.kubelet.when", want: "controlplane.kubelet[].when", kind: "string"},
		{path: "controlplane.kube-apiserver.containers.set.side.image", want: "controlplane.kube-apiserver[].containers.set.<name>.image", kind: "string"},
		{path: "parameters.any", want: "parameters.<name>", kind: "any value"},
		{path: "lookup", err: `the document has no field "lookup" (did you mean "lookups"?)`},
		{path: "lookups.any.kes", err: `lookups.<name> has no field "kes" (did you mean "keys"?)`},
		{path: "kubernetes.x", err: "kubernetes has no fields below it that are known"},
	} {
		t.Run(c.path, func(t *testing.T) {
			found, err := s.At(c.path)
			if err != nil || c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("got %v, want %s", err, c.err)
				}
				return
			}
			if kind := found.Schema.Kind(Plain); found.Path != c.want || kind != c.kind {
				t.Errorf("got %s <%s>, want %s <%s>", found.Path, kind, c.want, c.kind)
			}
		})
	}
}

// TestFields holds that every field of every document can be found by its path, to a depth beyond which types of Kubernetes repeat themselves.
func TestFields(t *testing.T) {
	for _, k := range schema.Kinds() {
		s, err := ParseSchema(k.Schema)
		if err != nil {
			t.Fatal(err)
		}
		root, err := s.At("")
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		var visit func(f *Found, depth int)
		visit = func(f *Found, depth int) {
			for _, field := range s.Fields(f) {
				seen++
				if again, err := s.At(field.Path); err != nil || again.Path != field.Path {
					t.Errorf("%s: %s: %v", k.Name, field.Path, err)
				}
				if depth > 0 {
					visit(field, depth-1)
				}
			}
		}
		visit(root, 4)
		if seen < 10 {
			t.Errorf("%s has %d fields", k.Name, seen)
		}
	}
}

func TestArguments(t *testing.T) {
	d, ok := operation.Lookup("volumes")
	if !ok {
		t.Fatal("there is no operation volumes")
	}
	var got []string
	for _, a := range Arguments(d) {
		got = append(got, strings.Join([]string{a.Name, TypeWords(a.Type, Plain)}, ": "))
	}
	want := []string{
		"set: mapping of names to fields of VolumeSource: secret, configMap, projected, emptyDir, downwardAPI, persistentVolumeClaim, csi, ephemeral, image",
		"set.<name>.mount: fields of VolumeMount: mountPath, readOnly, subPath, subPathExpr, mountPropagation, recursiveReadOnly",
		"set.<name>.mount.containers: list of text",
		"remove: list of text",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
