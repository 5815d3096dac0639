// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
)

// TestReadsOmitsUnusedLookups checks that a program reports the reads of its rules, and no unused lookups.
func TestReadsOmitsUnusedLookups(t *testing.T) {
	text := `
apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: p}
providers: [acme]
lookups:
  cloud: {secret: cloudprovider, keys: [region]}
  other: {secret: other, keys: [region]}
  unused: {secret: unused, keys: [region]}
  network: {infrastructure: "${ shoot.name }", paths: {nodes: status.nodesCIDR}}
  bucket: {backupBucket: b, paths: {region: spec.region}}
  policy: {object: {apiVersion: acme.cloud/v1, kind: Policy, name: x, namespace: fixed}, paths: {a: spec.a}}
  class: {object: {apiVersion: acme.cloud/v1, kind: Class, name: x, resource: klasses}, paths: {a: spec.a}}
variables:
  region: ${ lookups.cloud.region }
controlplane:
  kube-controller-manager:
  - flags: {set: {a: "${ variables.region }", b: "${ lookups.network.nodes }", c: "${ lookups.bucket.region }"}}
  - when: ${ lookups.other.region == "a" }
    flags: {set: {d: "${ lookups.policy.a }", e: "${ lookups.class.a }"}}
`
	program := compiled(t, compiler.Options{Kubernetes: elsewhere}, text)
	var got []string
	for _, l := range program.Lookups() {
		got = append(got, fmt.Sprintf("%s: %s %s %s/%s", l.Name, l.Scope, l.Resource, l.Namespace, l.ObjectName))
	}
	want := []string{
		"bucket: Cluster backupbuckets /b",
		"class:  klasses /x",
		"cloud: Namespaced secrets /cloudprovider",
		"network: Namespaced infrastructures /",
		"other: Namespaced secrets /other",
		"policy:  policies fixed/x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
