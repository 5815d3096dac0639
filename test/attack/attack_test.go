// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package attack_test checks that callers who announce more than they send, or connect and send nothing, neither fill
// the memory of the programs nor block health checks. The programs run as processes, the extension with a real
// kube-apiserver.
package attack_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

const (
	root = "../.."
	// announced is the length in the headers of the requests. Only one byte of each body is sent.
	announced = 8 << 20
	// mostGrowth is by how much a program may grow under attack, in bytes: the 240 or 500 bodies that are announced would
	// be 1.9 or 4 GiB.
	mostGrowth = 128 << 20

	extensionName   = "gardener-extension-provider-graft"
	providerName    = "graft-network-provider"
	interpreterName = "graft-resource-interpreter"
)

var (
	land     *landscape.Landscape
	binaries = map[string]string{}
)

func TestAttacks(t *testing.T) { suite.Run(t, "attack", "admission", "network") }

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	for _, name := range []string{extensionName, providerName, interpreterName} {
		binaries[name], err = env.Program(root, name)
		Expect(err).NotTo(HaveOccurred())
	}
	// The servers outlive the context of this node.
	land, err = landscape.Start(context.Background(), landscape.Options{})
	Expect(err).NotTo(HaveOccurred(), "starting etcd and kube-apiserver")
	DeferCleanup(land.Stop)
})

// target is a program that runs.
type target struct {
	*env.Process
	address, health, path string
}

// start runs a program with a limit of open files.
func start(ctx SpecContext, name string, files int) *target {
	GinkgoHelper()
	addresses, err := env.FreeAddresses(ctx, 3)
	Expect(err).NotTo(HaveOccurred())
	folder := GinkgoT().TempDir()
	t := &target{address: addresses[0], health: addresses[1]}
	var arguments, environment []string
	switch name {
	case extensionName:
		t.path = "/webhooks/controlplane/acme"
		arguments = extension(ctx, folder, addresses)
	case providerName:
		t.path = "/GetProfileConfig"
		arguments = provider(folder, addresses)
	default:
		t.path = "/interpret"
		arguments = []string{"--certificate-folder=" + folder, "--listen=" + t.address, "--metrics-address=" + t.health}
	}
	limited := append([]string{"-c", `ulimit -n "$0" && exec "$@"`, fmt.Sprint(files), binaries[name]}, arguments...)
	t.Process, err = env.Start(&env.Log{Limit: 1 << 18}, environment, "sh", limited...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(t.Kill)
	Expect(t.Await(ctx, func(ctx context.Context) error {
		_, err := env.Get(ctx, "http://"+t.health+"/readyz")
		return err
	})).To(Succeed())
	return t
}

func write(folder, name string, content []byte) string {
	GinkgoHelper()
	path := filepath.Join(folder, name)
	Expect(os.WriteFile(path, content, 0o600)).To(Succeed())
	return path
}

// extension is registered in kube-apiserver by URL, with its own namespace.
func extension(ctx SpecContext, folder string, addresses []string) []string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"}}
	Expect(land.Client().Create(ctx, namespace)).To(Succeed())
	config := write(folder, "config.yaml",
		[]byte("apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: ControllerConfiguration\n"+
			"shutdown: {delay: 0s}\n"))
	profile := write(folder, "profile.yaml", []byte(`apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: acme}
providers: [acme]
controlplane:
  kube-controller-manager:
  - flags: {set: {cloud-provider: external}}
`))
	e := env.Extension{Webhook: addresses[0], Metrics: addresses[2], Health: addresses[1]}
	return append(append(e.Arguments(config, land.Kubeconfig(), profile), e.ByURL(namespace.Name)...),
		"--leader-election-namespace="+namespace.Name)
}

// provider answers over TLS.
func provider(folder string, addresses []string) []string {
	GinkgoHelper()
	certificate, key := env.NewAuthority(GinkgoTB()).Issue("server")
	config := write(folder, "config.yaml",
		fmt.Appendf(nil, `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
ledger: {path: %[1]s/ledger}
profiles: {paths: [%[2]s]}
listeners: [{address: "tcp://%[3]s", tls: {certFile: %[4]s, keyFile: %[5]s}}]
metrics: {address: "%[6]s"}
shutdown: {delay: 0s}
`, folder, filepath.Join(root, "example", "network", "acme.yaml"), addresses[0], write(folder, "tls.crt", certificate),
			write(folder, "tls.key", key),
			addresses[1]))
	return []string{"--config=" + config, "--node=worker-1"}
}

// dial shakes hands for a protocol. The connection is closed when the test ends.
func (t *target) dial(ctx context.Context, protocol string) net.Conn {
	GinkgoHelper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}}
	c, err := dialer.DialContext(ctx, "tcp", t.address)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(c.Close)
	return c
}

// streams opens streams on one HTTP/2 connection. Each announces a body and sends one byte.
func (t *target) streams(ctx context.Context, count int) {
	GinkgoHelper()
	c := t.dial(ctx, "h2")
	_, err := io.WriteString(c, http2.ClientPreface)
	Expect(err).NotTo(HaveOccurred())
	framer := http2.NewFramer(c, c)
	Expect(framer.WriteSettings()).To(Succeed())
	go func() { _, _ = io.Copy(io.Discard, c) }()
	for i := range count {
		var head bytes.Buffer
		encoder := hpack.NewEncoder(&head)
		for _, field := range [][2]string{
			{":method", "POST"}, {":scheme", "https"}, {":authority", t.address}, {":path", t.path},
			{"content-type", "application/json"}, {"content-length", fmt.Sprint(announced)},
		} {
			Expect(encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})).To(Succeed())
		}
		id := uint32(2*i + 1)
		err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true})
		if err == nil {
			err = framer.WriteData(id, false, []byte("{"))
		}
		if err != nil {
			return // the server has ended the connection, which it may
		}
	}
}

// requests opens HTTP/1.1 connections. Each announces a body and sends one byte.
func (t *target) requests(ctx context.Context, count int) {
	GinkgoHelper()
	for range count {
		_, err := fmt.Fprintf(t.dial(ctx, "http/1.1"),
			"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", t.path, announced)
		Expect(err).NotTo(HaveOccurred())
	}
}

// healthy is an error while a health check is not answered as soon as a kubelet wants it to be.
func (t *target) healthy() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+t.health+"/healthz", http.NoBody)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/healthz answers %s", response.Status)
	}
	return nil
}

// honest returns an error while a new client gets no answer.
func (t *target) honest(ctx context.Context) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+t.address+t.path,
		bytes.NewReader([]byte("{}")))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusTooManyRequests {
		err = fmt.Errorf("it is refused with %s", response.Status)
	}
	_ = response.Body.Close()
	return err
}

var _ = DescribeTableSubtree("a program under attack", func(name string) {
	DescribeTable("keeps its size, answers health checks and honest callers",
		func(ctx SpecContext, attack func(*target, context.Context)) {
			t := start(ctx, name, 1024)
			before, err := t.Resident()
			Expect(err).NotTo(HaveOccurred())
			attack(t, ctx)
			for range 10 {
				Expect(t.healthy()).To(Succeed())
				Expect(t.honest(ctx)).To(Succeed())
				now, err := t.Resident()
				Expect(err).NotTo(HaveOccurred())
				Expect(now-before).To(BeNumerically("<", mostGrowth), "it has grown")
				time.Sleep(100 * time.Millisecond)
			}
			Expect(t.HasExited()).To(BeFalse())
		},
		Entry("by streams of one connection", func(t *target, ctx context.Context) { t.streams(ctx, 240) }),
		Entry("by many connections", func(t *target, ctx context.Context) { t.requests(ctx, 500) }),
	)

	It("answers health checks and honest callers when there are few files and many half-open connections",
		func(ctx SpecContext) {
			t := start(ctx, name, 64)
			for range 51 {
				c, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.address)
				Expect(err).NotTo(HaveOccurred())
				DeferCleanup(c.Close)
			}
			for range 10 {
				Expect(t.healthy()).To(Succeed())
				Expect(t.honest(ctx)).To(Succeed())
			}
			for range 51 { // the port of health checks itself
				c, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.health)
				Expect(err).NotTo(HaveOccurred())
				DeferCleanup(c.Close)
			}
			for range 10 {
				Expect(t.healthy()).To(Succeed())
			}
		})
},
	Entry("the extension", extensionName),
	Entry("the network provider", providerName),
	Entry("the resource interpreter", interpreterName),
)
