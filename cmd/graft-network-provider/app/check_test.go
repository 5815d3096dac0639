// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCheckMachine checks that --check reports missing files and invalid ports with their fields.
func TestCheckMachine(t *testing.T) {
	n := newNode(t)
	n.profile(t, "10.0.0.9", "")
	text := `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
listeners:
- {address: "tcp://0.0.0.0:99999", tls: {certFile: ` + n.path("tls.crt") + `, keyFile: ` + n.path("tls.key") + `}}
- {address: "tcp://127.0.0.1:0"}
ledger: {etcd: {endpoints: ["https://127.0.0.1:1"], caFile: ` + n.path("ca.crt") + `}}
`
	if err := os.WriteFile(n.path("config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = `Error: listeners[0].address: "99999" is not a port from 0 to 65535
listeners[0].tls: loading certificates: open tls.crt: no such file or directory
ledger.etcd: reading the certificates for etcd: open ca.crt: no such file or directory
`
	arguments := []string{"--config=" + n.path("config.yaml"), "--profiles=" + n.path("acme.yaml"), "--metrics-address=0", "--check"}
	if status, said := n.main(t, arguments...); status != 1 {
		t.Errorf("status %d", status)
	} else if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}

// TestCheckOfExclusivePools checks pools with exclusive: true: no finding for a server of all nodes, a warning for a server of one
// node, and a refusal in a DaemonSet, which starts servers on other nodes too.
func TestCheckOfExclusivePools(t *testing.T) {
	const (
		ok     = "ok: pools overlay; profiles none\n"
		place  = "acme.yaml:5:24: pools.overlay.exclusive: "
		remedy = ": write nodes: [worker-1], and declare a pool for each node; or use ledger.etcd, which servers can share; or run one server for all nodes\n"
	)
	for name, test := range map[string]struct {
		environment, node string
		status            int
		want              string
	}{
		"for all nodes": {"", "", 0, ok},
		"of a node": {"", "worker-1", 0, ok + "warning: " + place + "this server is for the node worker-1, and servers of other nodes with this profile " +
			"would allocate the same addresses" + remedy},
		"of a DaemonSet": {"worker-1", "", 1, place + "a DaemonSet runs a server with this profile on each node, and two of them would allocate " +
			"the same address" + remedy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NODE_NAME", test.environment)
			n := newNode(t)
			text := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: NetworkProfile\nmetadata: {name: acme}\n" +
				"pools:\n  overlay: {exclusive: true, subnets: [{prefix: 10.0.0.0/24}]}\n"
			if err := os.WriteFile(n.path("acme.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			arguments := []string{"--profiles=" + n.path("acme.yaml"), "--listen=dranet=unix://" + n.path("d.sock"), "--ledger=" + n.path("ledger"), "--metrics-address=0"}
			if test.node != "" {
				arguments = append(arguments, "--node="+test.node)
			}
			if status, said := n.main(t, append(arguments, "--check")...); status != test.status {
				t.Errorf("status %d", status)
			} else if diff := cmp.Diff(test.want, said); diff != "" {
				t.Error(diff)
			}
			if test.status == 0 {
				return
			}
			if status, said := n.main(t, append(arguments, "--log-level=error")...); status != test.status || said != test.want {
				t.Errorf("a start: status %d: %s", status, said)
			}
		})
	}
}
