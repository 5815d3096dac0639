// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

const profile = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: replicas}
pools:
  overlay: {subnets: [{prefix: 10.0.0.0/24, ranges: [10.0.0.1-10.0.0.%d]}], quarantine: 0s}
profiles:
  overlay: {pools: [overlay]}
`

const configuration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles: {paths: [%[1]s/profile.yaml]}
ledger: {etcd: {endpoints: [%[2]s], prefix: /replicas%[3]s}}
listeners: [{address: "unix://%[1]s/s", contracts: [dranet]}]
administration: {address: "unix://%[1]s/admin.sock"}
metrics: {address: "0"}
logging: {level: info, format: text}
`

// program is one replica.
type program struct{ *env.NetworkProvider }

// newProgram returns a replica without files. It is killed at the end of the spec.
func newProgram() *program {
	GinkgoHelper()
	return &program{env.NewNetworkProvider(GinkgoTB())}
}

// prepare writes the files of a replica: a pool with a number of addresses, and the fields with which it reaches etcd.
func prepare(c *cluster.Cluster, addresses int, fields string) *program {
	GinkgoHelper()
	p := newProgram()
	p.Write("profile.yaml", fmt.Sprintf(profile, addresses))
	p.Write("config.yaml", fmt.Sprintf(configuration, p.Folder, c.Endpoints[0], fields))
	return p
}

// allocate requests an address for a claim. It returns an empty address if there is no answer, or none with an address.
func (p *program) allocate(claim string) (address string, status int) {
	status, text := p.Post("/GetProfileConfig", claim, wanted)
	var answer struct {
		Interface struct{ Addresses []string }
	}
	if status != http.StatusOK || json.Unmarshal([]byte(text), &answer) != nil || len(answer.Interface.Addresses) != 1 {
		return "", status
	}
	return answer.Interface.Addresses[0], status
}

// release releases the allocations of a claim.
func (p *program) release(claim string) {
	GinkgoHelper()
	status, answer := p.Post("/ReleaseProfileConfig", claim, wanted)
	Expect(status).To(Equal(http.StatusOK), "status of the release of %s; the answer is %s", claim, answer)
}

// wanted is what all claims ask for.
var wanted = map[string]string{"profile": "overlay"}

// ledger runs graft ledger on the program's socket for administration. It returns the exit status and the output.
func (p *program) ledger(arguments ...string) string {
	arguments = append([]string{"ledger"}, arguments...)
	server := "--server=unix://" + filepath.Join(p.Folder, "admin.sock")
	command := exec.Command("../../bin/graft", append(arguments, server)...)
	output, _ := command.CombinedOutput()
	text := strings.TrimSpace(strings.ReplaceAll(string(output), p.Folder, ""))
	return fmt.Sprintf("%d: %s", command.ProcessState.ExitCode(), text)
}
