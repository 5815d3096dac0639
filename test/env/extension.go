// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
)

// The ports of tests are below the ephemeral ports of Linux (32768 and above). A program listens some time after its
// address was chosen, and again after a restart; no outgoing connection takes the port in between.
const firstPort, lastPort = 20000, 29999

// reserved holds one UDP socket for each port that FreeAddresses has returned, until the process exits. Other test
// processes see the socket and skip the port.
var reserved struct {
	sync.Mutex
	all []net.PacketConn
}

// FreeAddresses returns loopback addresses on which nothing listens. It returns each address once, and no other test
// process returns it while this process runs. It fails if all ports from firstPort to lastPort are in use.
func FreeAddresses(ctx context.Context, count int) ([]string, error) {
	reserved.Lock()
	defer reserved.Unlock()
	addresses := make([]string, 0, count)
	const ports = lastPort - firstPort + 1
	for port, tried := rand.IntN(ports), 0; len(addresses) < count; port, tried = (port+1)%ports, tried+1 {
		if tried == ports {
			return nil, fmt.Errorf("no port from %d to %d is free", firstPort, lastPort)
		}
		address := fmt.Sprint("127.0.0.1:", firstPort+port)
		if socket := reserve(ctx, address); socket != nil {
			reserved.all = append(reserved.all, socket)
			addresses = append(addresses, address)
		}
	}
	return addresses, nil
}

// reserve returns a UDP socket on the address, or nil if the UDP or the TCP port is in use.
func reserve(ctx context.Context, address string) net.PacketConn {
	socket, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", address)
	if err != nil {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		_ = socket.Close()
		return nil
	}
	_ = listener.Close()
	return socket
}

// Extension holds the addresses of a gardener-extension-provider-graft process on this machine.
type Extension struct{ Webhook, Metrics, Health string }

// NewExtension returns free addresses for an extension.
func NewExtension(ctx context.Context) (Extension, error) {
	addresses, err := FreeAddresses(ctx, 3)
	if err != nil {
		return Extension{}, err
	}
	return Extension{addresses[0], addresses[1], addresses[2]}, nil
}

// Arguments returns the command-line arguments of the program.
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

// ByURL returns the arguments that register the webhooks by URL, for a kube-apiserver on this machine.
func (e Extension) ByURL(namespace string) []string {
	return []string{"--webhook-config-mode=url", "--webhook-config-url=" + e.Webhook,
		"--webhook-config-namespace=" + namespace}
}

// Ready returns an error until the extension answers admission requests.
func (e Extension) Ready(ctx context.Context) error {
	_, err := Get(ctx, "http://"+e.Health+"/readyz?verbose")
	return err
}

// Get returns the body of a response. It fails for every status except 200.
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
		err = fmt.Errorf("%s returned %s: %s", url, response.Status, body)
	}
	return string(body), err
}
