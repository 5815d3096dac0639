// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/provider"
)

// prepare writes the profile and the configuration of a program, which is started again and again on one ledger.
func prepare(t *testing.T, f *fabric) *provider.Program {
	t.Helper()
	p := provider.New(t)
	p.Write("profile.yaml", fmt.Sprintf(profile, f.URL))
	p.Write("config.yaml", fmt.Sprintf(configuration, filepath.Join(p.Folder, "profile.yaml"), filepath.Join(p.Folder, "ledger"), p.Socket()))
	return p
}

// The fabric's pool is as small as the owners are many, so that addresses go from hand to hand.
const profile = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: crash}
clouds:
  fabric:
    limit: {parallel: 64}
    http:
      url: %s
      bind:
        method: PUT
        path: "/ports/${ allocation.addresses[0] }"
        body: {owner: "${ allocation.owner }"}
        succeeded: "${ status == 200 }"
      unbind:
        method: DELETE
        path: "/ports/${ allocation.addresses[0] }?owner=${ allocation.owner }"
        succeeded: "${ status in [200, 404] }"
      find:
        method: GET
        path: "/ports/${ allocation.addresses[0] }?owner=${ allocation.owner }"
        found: "${ status == 200 }"
pools:
  fabric: {subnets: [{prefix: 10.1.0.0/24, ranges: [10.1.0.1-10.1.0.24]}], cloud: fabric, rest: 0s, exclusive: true}
  plain: {subnets: [{prefix: 10.2.0.0/24, ranges: [10.2.0.1-10.2.0.24]}], exclusive: true}
profiles:
  fabric: {pools: [fabric]}
  plain: {pools: [plain]}
`

const configuration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles: {paths: [%s]}
ledger: {path: %s}
listeners: [{address: "unix://%s", contracts: [dranet]}]
metrics: {address: "127.0.0.1:0"}
logging: {level: info, format: text}
`
