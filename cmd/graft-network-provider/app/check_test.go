// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCheckMachine holds that --check finds what is named and not there, each with its place.
func TestCheckMachine(t *testing.T) {
	n := newNode(t)
	n.profile(t, "10.0.0.9", "")
	text := `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
listeners:
- {address: "tcp://0.0.0.0:99999", tls: {certFile: ` + n.path("tls.crt") + `, keyFile: ` + n.path("tls.key") + `}}
- {address: "tcp://127.0.0.1:0", tokenFile: ` + n.path("tokens") + `}
ledger: {etcd: {endpoints: ["https://127.0.0.1:1"], caFile: ` + n.path("ca.crt") + `}}
`
	if err := os.WriteFile(n.path("config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = `Error: listeners[0].address: "99999" is no port: they are 0 to 65535
listeners[0].tls: loading certificates: open tls.crt: no such file or directory
listeners[1].tokenFile: loading tokens: open tokens: no such file or directory
ledger.etcd: reading the CAs of etcd: open ca.crt: no such file or directory
`
	arguments := []string{"--config=" + n.path("config.yaml"), "--profiles=" + n.path("acme.yaml"), "--metrics-address=0", "--check"}
	if status, said := n.main(t, arguments...); status != 1 {
		t.Errorf("status %d", status)
	} else if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}
