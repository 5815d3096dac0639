// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// TestSampleOf holds what is made up for a lookup.
func TestSampleOf(t *testing.T) {
	policy := schema.GroupVersionKind{Group: "acme.cloud", Version: "v1", Kind: "Policy"}
	fields := map[string]facts.Path{"a": "status.nodesCIDR", "b": "spec.deep.thing", "c": "spec.list[0].x"}
	for name, test := range map[string]struct {
		lookup facts.LookupRequest
		want   map[string]any
	}{
		"of a kind that nobody knows": {
			facts.LookupRequest{GroupVersionKind: policy, ObjectName: "x", Fields: fields, Scope: facts.ScopeCluster},
			map[string]any{
				"apiVersion": "acme.cloud/v1", "kind": "Policy", "metadata": map[string]any{"name": "x"},
				"spec": map[string]any{"deep": map[string]any{"thing": "sample-thing"}}, "status": map[string]any{"nodesCIDR": "sample-nodescidr"},
			},
		},
		"optional": {facts.LookupRequest{GroupVersionKind: policy, ObjectName: "x", Optional: true}, nil},
		"a Secret": {
			facts.LookupRequest{GroupVersionKind: facts.Secret, ObjectName: "x", Keys: []string{"k"}},
			map[string]any{
				"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "x", "namespace": "shoot"}, "stringData": map[string]any{"k": "sample-k"},
			},
		},
		"a bucket": {
			facts.LookupRequest{GroupVersionKind: facts.BackupBucket, ObjectName: "x", Scope: facts.ScopeCluster, Optional: true},
			map[string]any{
				"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "BackupBucket", "metadata": map[string]any{"name": "x"}, "spec": extensionSpec("acme"),
			},
		},
	} {
		got := map[string]any(nil)
		if object := sampleOf("shoot", "acme", test.lookup); object != nil {
			got = object.Object
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	infrastructure := sampleOf("shoot", "acme", facts.LookupRequest{GroupVersionKind: facts.Infrastructure, ObjectName: "x", Fields: fields})
	if cidr, _ := facts.Path("status.nodesCIDR").In(infrastructure.Object); cidr != "10.250.0.0/16" {
		t.Errorf("the nodes of an Infrastructure are in %v", cidr)
	}
}
