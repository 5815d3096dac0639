// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
)

// Plugin is the path at which dockerd looks for the driver graft, and DRANET is a socket in the machine's folder.
const (
	Plugin = "/run/docker/plugins/graft.sock"
	DRANET = "dranet.sock"
)

// Provider returns a stopped provider. It serves Docker on the socket for dockerd, and DRANET on a socket next to the
// ledger.
func (m *Machine) Provider(program, profiles string, arguments ...string) *Process {
	listen := []string{"--listen=docker=unix://" + Plugin, "--listen=dranet=unix://" + filepath.Join(m.Folder, DRANET)}
	return m.Configured(program, profiles, append(listen, arguments...)...)
}

// Configured returns a provider whose arguments have its addresses. One address must be Plugin.
func (m *Machine) Configured(program, profiles string, arguments ...string) *Process {
	command := append([]string{
		program, "--profiles=" + profiles, "--ledger=" + m.Ledger(), "--node=worker-1", "--metrics-address=0",
		"--log-format=text",
	}, arguments...)
	return &Process{Name: "provider", machine: m, command: command, ready: func(ctx context.Context) error {
		// This is not a request, because the provider treats an activation as a start of Docker.
		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", m.Root(Plugin))
		if err != nil {
			return err
		}
		return connection.Close()
	}}
}

// Ledger returns the folder of the provider's ledger.
func (m *Machine) Ledger() string { return filepath.Join(m.Folder, "ledger") }

// Ask posts a body to a socket, and returns status and body of the response.
func (m *Machine) Ask(ctx context.Context, socket, path, body string) (status int, answer string, err error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+path,
		bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, "", fmt.Errorf("asking: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", fmt.Errorf("asking: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}
