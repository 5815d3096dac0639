// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

const reading = `
parameters: {name: theirs}
lookups:
  bucket: {backupBucket: "${ shoot.region }", paths: {store: status.x}}
  cloud: {secret: cloudprovider, keys: [region]}
  garden: {object: {apiVersion: apps/v1, kind: Deployment, name: "${ parameters.name }", namespace: elsewhere}, paths: {a: spec.replicas}}
  infra: {infrastructure: "${ object.namespace }", paths: {a: status.a}, optional: true}
variables:
  region: ${ lookups.cloud.region }
controlplane:
  kube-apiserver:
  - flags: {set: {a: "${ variables.region }", b: "${ string(lookups.garden.a) }"}}
  virtual-garden-kube-apiserver:
  - flags: {set: {a: "${ lookups.cloud.region }"}}
  etcd-main:
  - annotations: {set: {a: "${ string(lookups.infra.?a.orValue(1)) }", b: "${ string(lookups.bucket.store) }"}}
`

// TestPermissions checks the needed permissions: through variables, and for constant names, names from parameters, and
// computed names.
func TestPermissions(t *testing.T) {
	want := []mutation.Permission{
		{Profile: "p", Lookup: "bucket", Group: "extensions.gardener.cloud", Resource: "backupbuckets"},
		{Profile: "p", Lookup: "cloud", Resource: "secrets", Name: "cloudprovider"},
		{Profile: "p", Lookup: "cloud", Resource: "secrets", Name: "cloudprovider", Namespace: "garden"},
		{Profile: "p", Lookup: "garden", Group: "apps", Resource: "deployments", Name: "theirs", Namespace: "elsewhere"},
		{Profile: "p", Lookup: "infra", Group: "extensions.gardener.cloud", Resource: "infrastructures"},
	}
	got := programOf(t, reading).Permissions()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(mutation.Permission{}, "Position")); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	if len(got) > 0 && got[0].Position.Line == 0 {
		t.Errorf("a permission does not know its position: %+v", got[0])
	}
}
