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
	describe(p, f, 0)
	p.Write("config.yaml", fmt.Sprintf(configuration, filepath.Join(p.Folder, "profile.yaml"), filepath.Join(p.Folder, "ledger"), p.Socket(), podSocket(p)))
	return p
}

// describe writes the profile. Another number is another profile with which nothing is decided in another way.
func describe(p *provider.Program, f *fabric, number int) {
	p.Write("profile.yaml", fmt.Sprintf(profile, f.URL, f.URL, 1400+number))
}

// podSocket is where the contract of Spiderpool is answered.
func podSocket(p *provider.Program) string { return filepath.Join(p.Folder, "p") }

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
  vpc:
    limit: {parallel: 64}
    http:
      url: %s
      bind:
        method: PUT
        path: "/ports/${ allocation.addresses.join(',') }"
        body: {owner: "${ allocation.owner }", link: "${ allocation.node + '/' + allocation.parent + '/' + string(allocation.vlan) }"}
        succeeded: "${ status == 200 }"
        refused: "${ status == 422 }"
      unbind:
        method: DELETE
        path: "/ports/${ allocation.addresses.join(',') }?owner=${ allocation.owner }"
        succeeded: "${ status in [200, 404] }"
      find:
        method: GET
        path: "/ports/${ allocation.addresses.join(',') }?owner=${ allocation.owner }"
        found: "${ status == 200 }"
pools:
  fabric: {subnets: [{prefix: 10.1.0.0/24, ranges: [10.1.0.1-10.1.0.24]}], cloud: fabric, rest: 0s, exclusive: true}
  plain: {subnets: [{prefix: 10.2.0.0/24, ranges: [10.2.0.1-10.2.0.24]}], exclusive: true}
  vpc:
    subnets: [{prefix: 10.3.0.0/16, ranges: [10.3.0.1-10.3.0.48, 10.3.1.0-10.3.1.9]}, {prefix: "fd00:3::/64", ranges: ["fd00:3::1-fd00:3::80"]}]
    vlans: 100-227
    macPrefix: "0a:58"
    rest: 0s
    mtu: %d
    cloud: vpc
    exclusive: true
profiles:
  fabric: {pools: [fabric]}
  plain: {pools: [plain]}
`

const configuration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles: {paths: [%s]}
ledger: {path: %s}
listeners:
- {address: "unix://%s", contracts: [dranet]}
- {address: "unix://%s", contracts: [spiderpool]}
metrics: {address: "127.0.0.1:0"}
logging: {level: info, format: text}
`
