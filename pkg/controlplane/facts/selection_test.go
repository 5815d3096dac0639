// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"errors"
	"strings"
	"testing"

	"github.com/gardener/gardener/pkg/utils"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/test/objects"
)

var policy = map[string]any{
	"apiVersion": "acme.cloud/v1", "kind": "Policy",
	"metadata": map[string]any{"name": "x", "labels": map[string]any{"a.b/c": "1", "d": "2"}, "annotations": map[string]any{"e": "3"}},
	"spec": map[string]any{
		"zones": []any{"z1", "z2"}, "count": int64(3), "none": nil,
		"subnets": []any{map[string]any{"purpose": "pods", "id": "p"}, map[string]any{"purpose": "nodes", "id": "n"}},
	},
}

func TestPaths(t *testing.T) {
	for path, want := range map[string]any{
		"metadata.name": "x", `metadata.labels["a.b/c"]`: "1", "spec.zones[1]": "z2", "spec.zones[2]": nil, "spec.count": int64(3),
		"spec.subnets[purpose=nodes].id": "n", "spec.subnets[purpose=none].id": nil, "spec.none": nil, "spec.none.a": nil,
		"spec.zones.a": nil, "metadata.name[0]": nil,
	} {
		parsed, err := fieldpath.Parse(path)
		if got := parsed.In(policy); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: got %v, %v, want %v", path, got, err, want)
		}
	}
}

// TestChecksums compares checksums with those of Gardener's components.
func TestChecksums(t *testing.T) {
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "x"}, "data": map[string]any{"b": "aHVudGVyMg==", "a": "PD4m"}}
	config := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x"}, "data": map[string]any{"b": "<&>", "a": "ü"}}
	empty := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x"}}
	for _, c := range []struct {
		name   string
		object map[string]any
		kind   schema.GroupVersionKind
		want   string
	}{
		{"a Secret with two keys", secret, Secret, utils.ComputeChecksum(map[string][]byte{"a": []byte("<>&"), "b": []byte("hunter2")})},
		{"a ConfigMap with two keys", config, ConfigMap, utils.ComputeChecksum(map[string]string{"a": "ü", "b": "<&>"})},
		{"a ConfigMap without data", empty, ConfigMap, utils.ComputeChecksum(map[string]string(nil))},
	} {
		request := LookupRequest{GroupVersionKind: c.kind, ObjectName: "x", Checksum: true}
		found, err := request.Read(c.object)
		if err != nil || found.Checksum != c.want {
			t.Errorf("%s: got %v, %v, want %s", c.name, found, err, c.want)
		}
	}
	known := Static{Objects: objects.Of(map[string]map[string]string{"x": {"a": "<>&", "b": "hunter2"}}, nil)}
	found, err := known.Lookup(t.Context(), "ns", LookupRequest{GroupVersionKind: Secret, ObjectName: "x", Checksum: true})
	if want := utils.ComputeChecksum(map[string][]byte{"a": []byte("<>&"), "b": []byte("hunter2")}); err != nil || found.Checksum != want {
		t.Errorf("from data: got %v, %v, want %s", found, err, want)
	}
}

func TestRequestRead(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "acme.cloud", Version: "v1", Kind: "Policy"}
	request := LookupRequest{
		GroupVersionKind: kind, ObjectName: "x", Labels: []string{"d", "gone"}, Annotations: []string{"e"},
		Fields: map[string]fieldpath.Path{},
	}
	path := func(name, text string) {
		parsed, err := fieldpath.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		request.Fields[name] = parsed
	}
	path("count", "spec.count")
	path("id", "spec.subnets[purpose=nodes].id")
	found, err := request.Read(policy)
	want := &LookupResult{Fields: map[string]any{"count": int64(3), "id": "n"}, Labels: map[string]string{"d": "2"}, Annotations: map[string]string{"e": "3"}}
	if diff := cmp.Diff(want, found); err != nil || diff != "" {
		t.Errorf("got %v, %s", err, diff)
	}
	path("gone", "spec.gone")
	if _, err := request.Read(policy); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "the Policy x has no spec.gone") {
		t.Errorf("got %v", err)
	}
	broken := map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"a": "hunter2!"}}
	_, err = LookupRequest{GroupVersionKind: Secret, ObjectName: "x", Keys: []string{"a"}}.Read(broken)
	if !errors.Is(err, ErrUndecodable) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}
