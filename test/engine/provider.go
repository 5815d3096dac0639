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

// Plugin is where dockerd looks for the driver graft, and DRANET is a socket in the machine's folder.
const (
	Plugin = "/run/docker/plugins/graft.sock"
	DRANET = "dranet.sock"
)

// Provider is one that does not run yet. It serves Docker on the socket where dockerd finds it, and DRANET beside the
// ledger.
func (m *Machine) Provider(program, profiles string, arguments ...string) *Process {
	listen := []string{"--listen=docker=unix://" + Plugin, "--listen=dranet=unix://" + filepath.Join(m.Folder, DRANET)}
	return m.Configured(program, profiles, append(listen, arguments...)...)
}

// Configured is a provider that listens where its arguments say, one of which is Plugin.
func (m *Machine) Configured(program, profiles string, arguments ...string) *Process {
	command := append([]string{
		program, "--profiles=" + profiles, "--ledger=" + m.Ledger(), "--node=worker-1", "--metrics-address=0",
		"--log-format=text",
	}, arguments...)
	return &Process{Name: "provider", machine: m, command: command, ready: func(ctx context.Context) error {
		// No request: to be activated means something to the provider.
		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", m.Root(Plugin))
		if err != nil {
			return err
		}
		return connection.Close()
	}}
}

// Ledger is the folder of the provider's ledger.
func (m *Machine) Ledger() string { return filepath.Join(m.Folder, "ledger") }

// Ask posts a body to a socket, and returns the status and the body of the answer.
func (m *Machine) Ask(ctx context.Context, socket, path, body string) (status int, answer string, err error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
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
