// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package running

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
)

// Ports of tests are below those that the system gives to whoever asks for none (from 32768 on Linux): programs listen later than their addresses are
// chosen, and again after they were killed, and neither a connection nor a server of another test takes the port meanwhile.
const firstPort, lastPort = 20000, 29999

// marks are held until the process ends, by which others know that a port is not theirs.
var marks struct {
	sync.Mutex
	all []net.PacketConn
}

// FreeAddresses are addresses of the loopback interface on which nothing listens, and which no other process is given as long as this one lives.
func FreeAddresses(ctx context.Context, count int) ([]string, error) {
	marks.Lock()
	defer marks.Unlock()
	addresses := make([]string, 0, count)
	const ports = lastPort - firstPort + 1
	for port, tried := rand.IntN(ports), 0; len(addresses) < count; port, tried = (port+1)%ports, tried+1 {
		if tried == ports {
			return nil, fmt.Errorf("no port from %d to %d is free", firstPort, lastPort)
		}
		address := fmt.Sprint("127.0.0.1:", firstPort+port)
		if mark := mark(ctx, address); mark != nil {
			marks.all = append(marks.all, mark)
			addresses = append(addresses, address)
		}
	}
	return addresses, nil
}

// mark takes the port of UDP, where nobody has it, and nobody listens on that of TCP; nil otherwise.
func mark(ctx context.Context, address string) net.PacketConn {
	mark, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", address)
	if err != nil {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		_ = mark.Close()
		return nil
	}
	_ = listener.Close()
	return mark
}

// Extension is where gardener-extension-provider-graft listens on this machine.
type Extension struct{ Webhook, Metrics, Health string }

// NewExtension finds addresses for it.
func NewExtension(ctx context.Context) (Extension, error) {
	addresses, err := FreeAddresses(ctx, 3)
	if err != nil {
		return Extension{}, err
	}
	return Extension{addresses[0], addresses[1], addresses[2]}, nil
}

// Arguments are those by which the program listens there and finds what it needs.
func (e Extension) Arguments(config, kubeconfig string, profiles ...string) []string {
	_, port, _ := net.SplitHostPort(e.Webhook)
	arguments := []string{
		"--config=" + config, "--kubeconfig=" + kubeconfig,
		"--webhook-config-server-host=127.0.0.1", "--webhook-config-server-port=" + port,
		"--metrics-bind-address=" + e.Metrics, "--health-bind-address=" + e.Health,
	}
	for _, path := range profiles {
		arguments = append(arguments, "--profile="+path)
	}
	return arguments
}

// ByURL are the arguments by which a kube-apiserver on this machine is told to call it.
func (e Extension) ByURL(namespace string) []string {
	return []string{"--webhook-config-mode=url", "--webhook-config-url=" + e.Webhook, "--webhook-config-namespace=" + namespace}
}

// Ready is an error while it would not answer admissions.
func (e Extension) Ready(ctx context.Context) error {
	_, err := Get(ctx, "http://"+e.Health+"/readyz?verbose")
	return err
}

// Get is the body of an answer; another status than 200 is an error.
func Get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", url, response.Status, body)
	}
	return string(body), err
}
