// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package running

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
)

// FreeAddresses are addresses of the loopback interface on which nothing listens.
func FreeAddresses(ctx context.Context, count int) ([]string, error) {
	var listeners []net.Listener
	defer func() { // not before all are known, so that none comes twice
		for _, listener := range listeners {
			_ = listener.Close()
		}
	}()
	addresses := make([]string, 0, count)
	for range count {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		listeners = append(listeners, listener)
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
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
