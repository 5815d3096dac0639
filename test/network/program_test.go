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
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

const profile = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: replicas}
pools:
  overlay: {subnets: [{prefix: 10.0.0.0/24, ranges: [10.0.0.1-10.0.0.%d]}], rest: 0s}
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
type program struct {
	*env.NetworkProvider
	t *testing.T
}

// prepare writes the files of a replica: a pool of so many addresses, in an etcd that is reached with these fields.
func prepare(t *testing.T, c *cluster.Cluster, addresses int, fields string) *program {
	t.Helper()
	p := &program{env.NewNetworkProvider(t), t}
	p.Write("profile.yaml", fmt.Sprintf(profile, addresses))
	p.Write("config.yaml", fmt.Sprintf(configuration, p.Folder, c.Endpoints[0], fields))
	return p
}

// allocate asks for an address of a claim; empty: there was no answer, or none with an address.
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

// release gives back what a claim holds.
func (p *program) release(claim string) {
	p.t.Helper()
	if status, said := p.Post("/ReleaseProfileConfig", claim, wanted); status != http.StatusOK {
		p.t.Errorf("the release of %s: %d %s", claim, status, said)
	}
}

// wanted is what all claims ask for.
var wanted = map[string]string{"profile": "overlay"}

// ledger runs graft ledger through the program's administration, and gives what it says and its status.
func (p *program) ledger(arguments ...string) string {
	p.t.Helper()
	command := exec.Command("../../bin/graft", append(append([]string{"ledger"}, arguments...), "--server=unix://"+filepath.Join(p.Folder, "admin.sock"))...)
	said, _ := command.CombinedOutput()
	return fmt.Sprintf("%d: %s", command.ProcessState.ExitCode(), strings.TrimSpace(strings.ReplaceAll(string(said), p.Folder, "")))
}
