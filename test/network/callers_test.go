// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

// contracts is the configuration of a program that answers all contracts at one socket, with a ledger that follows.
const contracts = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles: {paths: [%[1]s/profile.yaml]}
listeners: [{address: "%[2]s", contracts: [dranet, spiderpool]}]
administration: {address: "unix://%[1]s/admin.sock"}
metrics: {address: "0"}
logging: {level: info, format: text}
ledger: `

const (
	allocateIPs = "/v1/apis/network.iaas.io/ipam/allocate-ips"
	releaseIP   = "/v1/apis/network.iaas.io/ipam/release-ip"
)

// take is the body of a Pod's request for addresses.
func take(uid string, addresses ...string) map[string]any {
	var items []any
	for _, address := range addresses {
		items = append(items, map[string]string{"ipAddress": address, "subnet": "10.0.0.0/24", "parentNicMac": "fa:16:3e:00:00:01"})
	}
	return map[string]any{"podUID": uid, "podName": uid, "podNamespace": "shop", "nodeName": uid, "iaasIPsAllocationRequest": items}
}

// send writes a request to the program's socket.
func (p *program) send(path string, body any) net.Conn {
	p.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	connection, err := (&net.Dialer{}).DialContext(p.t.Context(), "unix", p.Socket())
	if err != nil {
		p.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, "http://localhost"+path, bytes.NewReader(raw))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if err := request.Write(connection); err != nil {
		p.t.Fatal(err)
	}
	return connection
}

// call makes a request and returns the first line and the rest of the answer.
func (p *program) call(path string, body any) string {
	p.t.Helper()
	connection := p.send(path, body)
	defer func() { _ = connection.Close() }()
	if err := connection.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		p.t.Fatal(err)
	}
	if unix, ok := connection.(*net.UnixConn); !ok {
		p.t.Fatalf("a connection is a %T", unix)
	}
	var answer strings.Builder
	buffer := make([]byte, 1<<16)
	for !strings.Contains(answer.String(), "\r\n\r\n") {
		n, err := connection.Read(buffer)
		answer.Write(buffer[:n])
		if err != nil && !errors.Is(err, io.EOF) {
			p.t.Fatal(err)
		}
	}
	return answer.String()
}

// holders returns the owners in the ledger, each with how many allocations it has.
func (p *program) holders() map[string]int {
	p.t.Helper()
	said := p.ledger("inspect", "-o", "json")
	_, list, _ := strings.Cut(said, ": ")
	var all []struct {
		Owner struct{ Key string }
	}
	if err := json.Unmarshal([]byte(list), &all); err != nil {
		p.t.Fatalf("%v: %s", err, said)
	}
	count := map[string]int{}
	for _, a := range all {
		_, uid, found := strings.Cut(a.Owner.Key, "uid/")
		if !found {
			uid = a.Owner.Key
		}
		uid, _, _ = strings.Cut(uid, "/")
		count[uid]++
	}
	return count
}

// TestCallersThatHaveLeft sends requests while the program is paused, or while only systemd's socket is there, and gives up. When the program goes on,
// a running Pod keeps its address, and a claim that nobody waits for holds nothing.
func TestCallersThatHaveLeft(t *testing.T) {
	const rounds = 10
	for name, way := range map[string]struct{ stop, goOn func(*program) }{
		"paused": {
			func(p *program) { p.Signal(syscall.SIGSTOP) },
			func(p *program) { p.Signal(syscall.SIGCONT) },
		},
		"restarted": {
			func(p *program) { p.Kill(); p.WaitExit() },
			func(p *program) { p.Start() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := passed(t, "graft-dranet", 0o600)
			p.Write("config.yaml", fmt.Sprintf(contracts+"{path: %[1]s/ledger}\n", p.Folder, "systemd://graft-dranet"))
			p.Start()
			p.Ready()
			if said := p.call(allocateIPs, take("running", "10.0.0.1")); !strings.HasPrefix(said, "HTTP/1.1 200 ") {
				t.Fatal(said)
			}
			for i := range rounds {
				way.stop(p)
				for _, c := range []net.Conn{
					p.send(allocateIPs, take(fmt.Sprint("late-", i), "10.0.0.1")),
					p.send("/GetProfileConfig", map[string]any{"claim_uid": fmt.Sprint("claim-", i), "device": map[string]string{"name": "eth1"}, "config": wanted}),
				} {
					if err := c.Close(); err != nil {
						t.Fatal(err)
					}
				}
				way.goOn(p)
				p.Ready()
			}
			// Requests are accepted in their order: when another connection is answered, the earlier ones have been read.
			if said := p.call(releaseIP, map[string]string{"podUID": "nobody", "nodeName": "n", "subnet": "10.0.0.0/24", "ipAddress": "10.0.0.9"}); !strings.HasPrefix(said, "HTTP/1.1 2") {
				t.Error(said)
			}
			if diff := cmp.Diff(map[string]int{"running": 1}, p.holders()); diff != "" {
				t.Errorf("who holds something (-want +got):\n%s\nthe program said\n%s", diff, p.Log)
			}
		})
	}
}

// TestLargeRequests asks for as many interfaces at once as the contract permits, which are more rows than etcd takes in one transaction.
func TestLargeRequests(t *testing.T) {
	const interfaces = 128
	c := cluster.Start(t, 1)
	p := &program{env.NewNetworkProvider(t), t}
	p.Write("profile.yaml", fmt.Sprintf(strings.Replace(profile, "{subnets", "{exclusive: true, vlans: 100-999, macPrefix: '0a:58', subnets", 1), interfaces+1))
	p.Write("config.yaml", fmt.Sprintf(contracts+"{etcd: {endpoints: ['%[3]s'], prefix: /large, caFile: %[4]s, certFile: %[5]s, keyFile: %[6]s}}\n",
		p.Folder, "unix://"+p.Socket(), c.Endpoints[0], c.CAFile, c.CertFile, c.KeyFile))
	p.Start()
	p.Ready()
	var addresses []string
	for i := range interfaces {
		addresses = append(addresses, fmt.Sprintf("10.0.0.%d", i+1))
	}
	want := map[string]int{}
	for _, pod := range []struct {
		uid       string
		addresses []string
	}{{"half", addresses[:32]}, {"all", addresses}} {
		if said := p.call(allocateIPs, take(pod.uid, pod.addresses...)); !strings.HasPrefix(said, "HTTP/1.1 200 ") {
			t.Fatalf("%s: %s; the program said\n%s", pod.uid, said, p.Log)
		}
		maps.DeleteFunc(want, func(string, int) bool { return true }) // its addresses are taken over
		want[pod.uid] = len(pod.addresses)
		if diff := cmp.Diff(want, p.holders()); diff != "" {
			t.Errorf("who holds something (-want +got):\n%s", diff)
		}
	}
}
