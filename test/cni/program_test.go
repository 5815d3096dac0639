// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cni_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// program is graft-network-provider on a host, as DRANET meets it, killed and started again on one ledger.
type program struct {
	*host
	*env.NetworkProvider
}

const documents = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: lan}
clouds:
  lan: {cni: {configuration: lan}}
pools:
  lan: {cloud: lan, exclusive: true}
profiles:
  acme.com/lan: {pools: [lan]}
`

const configuration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles: {paths: [%[1]s/profile.yaml]}
ledger: {path: %[1]s/ledger}
listeners: [{address: "unix://%[1]s/s", contracts: [dranet]}]
metrics: {address: "127.0.0.1:0"}
cni: {configurations: %[2]s, plugins: %[3]s}
logging: {level: info, format: text}
`

func newProgram(h *host) *program {
	GinkgoHelper()
	p := &program{h, env.NewNetworkProvider(h)}
	suite.ShowLog("the program", p.Log)
	p.Write("profile.yaml", documents)
	p.Write("config.yaml", fmt.Sprintf(configuration, p.Folder, h.options.Configurations, h.options.Plugins))
	return p
}

// start starts the program, and waits until it answers.
func (p *program) start() {
	GinkgoHelper()
	p.Start()
	p.Ready()
}

// kill ends the program at once. The plugins that it runs go on to their ends, as they do when a server dies.
func (p *program) kill() {
	p.Kill()
	p.WaitExit()
}

// post makes a call of DRANET's contract; status 0 means that there was no answer.
func (p *program) post(path, claim string) (status int, answer string) {
	return p.Post(path, claim, map[string]string{"profile": "acme.com/lan"})
}
