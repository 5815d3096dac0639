// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

const diskConfiguration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
node: worker-1
profiles: {paths: [%[1]s/profile.yaml]}
ledger: {path: %[1]s/ledger}
listeners: [{address: "unix://%[1]s/s", contracts: [dranet]}]
metrics: {address: "0"}
logging: {level: info, format: text}
`

// TestDisk lets a server on a folder write until the disk takes no more: it ends with a line that says so and no panic, and when there is room
// again, all that was answered is there.
func TestDisk(t *testing.T) {
	p := &program{env.NewNetworkProvider(t), t}
	p.Write("profile.yaml", strings.ReplaceAll(fmt.Sprintf(profile, 250), "rest: 0s", "rest: 0s, nodes: [worker-1]"))
	p.Write("config.yaml", fmt.Sprintf(diskConfiguration, p.Folder))
	p.FileBlocks = 512
	p.Start()
	p.Ready()
	given := map[string]string{}
	for _, claim := range claims("claim", 250) {
		address, _ := p.allocate(claim)
		if address == "" {
			break
		}
		given[claim] = address
	}
	status, said := p.WaitExit(), p.Log.String()
	if status != 1 || len(given) == 0 || strings.Contains(said, "goroutine") || !strings.Contains(said, "Ending because the ledger cannot be written") {
		t.Fatalf("status %d after %d claims: %s", status, len(given), said)
	}
	p.FileBlocks = 0
	p.Start()
	p.Ready()
	for claim, had := range given {
		if address, _ := p.allocate(claim); address != had {
			t.Errorf("%s had %s, and has %q", claim, had, address)
		}
	}
	if status := p.Stop(); status != 0 {
		t.Errorf("the program ended with %d: %s", status, p.Log)
	}
}
