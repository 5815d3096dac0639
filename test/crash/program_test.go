// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"fmt"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// prepare writes the profile and the configuration of a program, which is started again and again on one ledger.
func prepare(f *fabric) *env.NetworkProvider {
	GinkgoHelper()
	p := env.NewNetworkProvider(GinkgoTB())
	describe(p, f, 0)
	tools, err := filepath.Abs("../../.cache/tools/bin")
	Expect(err).NotTo(HaveOccurred())
	_, err = os.Stat(filepath.Join(tools, "host-local"))
	Expect(err).NotTo(HaveOccurred(), "`make servers` builds host-local")
	p.Write("lan.conf", fmt.Sprintf(lan, kept(p)))
	p.Write("config.yaml", fmt.Sprintf(configuration, p.Folder, tools, p.Socket(), podSocket(p)))
	return p
}

// kept is the folder in which host-local has a file for each allocated address.
func kept(p *env.NetworkProvider) string { return filepath.Join(p.Folder, "kept") }

// lan is a CNI network configuration; its IPAM plugin is used.
const lan = `{"cniVersion": "1.0.0", "name": "lan", "type": "macvlan", "ipam": {"type": "host-local", "dataDir": %q,
	"ranges": [[{"subnet": "10.4.0.0/24", "rangeStart": "10.4.0.2", "rangeEnd": "10.4.0.13"}]]}}`

// describe writes the profile. Another number is another profile with which nothing is decided in another way.
func describe(p *env.NetworkProvider, f *fabric, number int) {
	p.Write("profile.yaml", fmt.Sprintf(profile, f.URL, f.URL, 1400+number))
}

// podSocket is where the contract of Spiderpool is answered.
func podSocket(p *env.NetworkProvider) string { return filepath.Join(p.Folder, "p") }

// The fabric's pool is as small as the owners are many, so that addresses go from hand to hand.
const profile = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: crash}
clouds:
  fabric:
    limit: {parallel: 64}
    timeout: 1s
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
    timeout: 1s
    http:
      url: %s
      bind:
        method: PUT
        path: "/ports/${ allocation.addresses.join(',') }"
        body:
          owner: "${ allocation.owner }"
          link: "${ allocation.node + '/' + allocation.parent + '/' + string(allocation.vlan) }"
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
  lan: {cni: {configuration: lan}}
pools:
  lan: {cloud: lan, quarantine: 0s, exclusive: true}
  fabric: {subnets: [{prefix: 10.1.0.0/24, ranges: [10.1.0.1-10.1.0.24]}],
    cloud: fabric, quarantine: 0s, exclusive: true}
  plain: {subnets: [{prefix: 10.2.0.0/24, ranges: [10.2.0.1-10.2.0.24]}], exclusive: true}
  vpc:
    subnets:
    - {prefix: 10.3.0.0/16, ranges: [10.3.0.1-10.3.0.48, 10.3.1.0-10.3.1.9]}
    - {prefix: "fd00:3::/64", ranges: ["fd00:3::1-fd00:3::80"]}
    vlans: 100-227
    macPrefix: "0a:58"
    quarantine: 0s
    mtu: %d
    cloud: vpc
    exclusive: true
profiles:
  fabric: {pools: [fabric]}
  plain: {pools: [plain]}
  lan: {pools: [lan]}
`

const configuration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles: {paths: [%[1]s/profile.yaml]}
ledger: {path: %[1]s/ledger}
cni: {configurations: %[1]s, plugins: %[2]s}
listeners:
- {address: "unix://%[3]s", contracts: [dranet]}
- {address: "unix://%[4]s", contracts: [spiderpool]}
metrics: {address: "127.0.0.1:0"}
logging: {level: info, format: text}
`
