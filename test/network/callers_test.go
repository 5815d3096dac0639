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
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

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
		items = append(items, map[string]string{
			"ipAddress": address, "subnet": "10.0.0.0/24", "parentNicMac": "fa:16:3e:00:00:01",
		})
	}
	return map[string]any{
		"podUID": uid, "podName": uid, "podNamespace": "shop", "nodeName": uid, "iaasIPsAllocationRequest": items,
	}
}

// send writes a request to the program's socket.
func (p *program) send(ctx SpecContext, path string, body any) net.Conn {
	GinkgoHelper()
	raw, err := json.Marshal(body)
	Expect(err).NotTo(HaveOccurred())
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", p.Socket())
	Expect(err).NotTo(HaveOccurred(), "connecting to the program")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+path, bytes.NewReader(raw))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json")
	Expect(request.Write(connection)).To(Succeed(), "writing a request for %s", path)
	return connection
}

// call makes a request and returns the answer, from its status line on.
func (p *program) call(ctx SpecContext, path string, body any) string {
	GinkgoHelper()
	connection := p.send(ctx, path, body)
	defer func() { _ = connection.Close() }()
	Expect(connection.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
	var answer strings.Builder
	buffer := make([]byte, 1<<16)
	for !strings.Contains(answer.String(), "\r\n\r\n") {
		n, err := connection.Read(buffer)
		answer.Write(buffer[:n])
		if !errors.Is(err, io.EOF) {
			Expect(err).NotTo(HaveOccurred(), "reading the answer of %s", path)
		}
	}
	return answer.String()
}

// holders returns the number of allocations of each owner in the ledger.
func (p *program) holders() map[string]int {
	GinkgoHelper()
	said := p.ledger("inspect", "-o", "json")
	_, list, _ := strings.Cut(said, ": ")
	var all []struct {
		Owner struct{ Key string }
	}
	Expect(json.Unmarshal([]byte(list), &all)).To(Succeed(), "reading the output of graft ledger inspect: %s", said)
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

var _ = Describe("callers that have left", func() {
	// Requests are sent while the program is paused, or while only the socket of systemd is there; then the callers
	// leave.
	DescribeTable("hold nothing, and take no address from a running Pod, after the program was",
		func(ctx SpecContext, interrupt, resume func(*program)) {
			const rounds = 10
			p := passed("graft-dranet", 0o600)
			p.Write("config.yaml", fmt.Sprintf(contracts+"{path: %[1]s/ledger}\n", p.Folder, "systemd://graft-dranet"))
			p.Start()
			p.Ready()
			Expect(p.call(ctx, allocateIPs, take("running", "10.0.0.1"))).To(HavePrefix("HTTP/1.1 200 "), "the running Pod")
			for i := range rounds {
				interrupt(p)
				pod := p.send(ctx, allocateIPs, take(fmt.Sprint("late-", i), "10.0.0.1"))
				claim := p.send(ctx, "/GetProfileConfig", map[string]any{
					"claim_uid": fmt.Sprint("claim-", i), "device": map[string]string{"name": "eth1"}, "config": wanted,
				})
				Expect(pod.Close()).To(Succeed())
				Expect(claim.Close()).To(Succeed())
				resume(p)
				p.Ready()
			}
			// Requests are accepted in order: when another connection is answered, the earlier ones have been read.
			Expect(p.call(ctx, releaseIP, map[string]string{
				"podUID": "nobody", "nodeName": "n", "subnet": "10.0.0.0/24", "ipAddress": "10.0.0.9",
			})).To(HavePrefix("HTTP/1.1 2"), "the release of an address that is not held")
			Expect(p.holders()).To(BeComparableTo(map[string]int{"running": 1}), "owners; the program printed:\n%s", p.Log)
		},
		Entry("paused",
			func(p *program) { p.Signal(syscall.SIGSTOP) },
			func(p *program) { p.Signal(syscall.SIGCONT) }),
		Entry("killed and started again",
			func(p *program) { p.Kill(); p.WaitExit() },
			func(p *program) { p.Start() }),
	)
})

var _ = Describe("a request for as many interfaces as the contract permits", func() {
	It("is answered, though it needs more rows than etcd takes in one transaction", func(ctx SpecContext) {
		const interfaces = 128
		c := cluster.Start(GinkgoTB(), 1)
		p := newProgram()
		pool := strings.Replace(profile, "{subnets", "{exclusive: true, vlans: 100-999, macPrefix: '0a:58', subnets", 1)
		p.Write("profile.yaml", fmt.Sprintf(pool, interfaces+1))
		const ledger = "{etcd: {endpoints: ['%[3]s'], prefix: /large, caFile: %[4]s, certFile: %[5]s, keyFile: %[6]s}}\n"
		p.Write("config.yaml", fmt.Sprintf(contracts+ledger,
			p.Folder, "unix://"+p.Socket(), c.Endpoints[0], c.CAFile, c.CertFile, c.KeyFile))
		p.Start()
		p.Ready()
		var addresses []string
		for i := range interfaces {
			addresses = append(addresses, fmt.Sprintf("10.0.0.%d", i+1))
		}
		Expect(p.call(ctx, allocateIPs, take("half", addresses[:32]...))).
			To(HavePrefix("HTTP/1.1 200 "), "32 interfaces; the program printed:\n%s", p.Log)
		Expect(p.holders()).To(BeComparableTo(map[string]int{"half": 32}), "owners of the first 32 addresses")
		Expect(p.call(ctx, allocateIPs, take("all", addresses...))).
			To(HavePrefix("HTTP/1.1 200 "), "%d interfaces; the program printed:\n%s", interfaces, p.Log)
		Expect(p.holders()).
			To(BeComparableTo(map[string]int{"all": interfaces}), "owners after another Pod took all addresses over")
	})
})
