// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/namespace"
)

const (
	socket  = "/run/docker/plugins/graft.sock"
	metrics = "127.0.0.1:8080"
)

// What the server is told; %s is its folder.
const (
	configuration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
node: worker-1
profiles: {paths: [%[1]s/profile.yaml]}
ledger: {path: %[1]s/ledger}
listeners: [{address: "unix://` + socket + `", contracts: [docker]}]
metrics: {address: "` + metrics + `"}
logging: {level: error, format: text}
`
	document = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: benchmark}
pools:
  pooled: {nodes: [worker-1], subnets: [{prefix: 10.64.0.0/16, gateway: 10.64.0.1}], quarantine: 0s}
profiles:
  pooled: {pools: [pooled]}
`
)

// machine is a server and a controller.
type machine struct {
	*engine.Process
	folder string
	server *exec.Cmd
	ended  chan struct{}
}

// open starts both on a folder of the disk.
func (o options) open() (m *machine, err error) {
	m = &machine{ended: make(chan struct{})}
	if m.folder, err = os.MkdirTemp(o.folder, "endpoints"); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"profile.yaml": document,
		"config.yaml": fmt.Sprintf(configuration, m.folder)} {
		if err := os.WriteFile(filepath.Join(m.folder, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return nil, err
	}
	m.server = exec.CommandContext(context.Background(), o.provider, "--config", filepath.Join(m.folder, "config.yaml"))
	m.server.Stdout, m.server.Stderr = os.Stderr, os.Stderr
	if err := namespace.Start("", m.server, func() { close(m.ended) }); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	if err := m.ready(); err != nil {
		m.close()
		return nil, err
	}
	m.Process, err = engine.Start(o.engine, engine.Settings{Data: filepath.Join(m.folder, "data"), Run: "/run/docker"},
		io.Discard)
	if err != nil {
		m.close()
	}
	return m, err
}

// ready waits until the server listens.
func (m *machine) ready() error {
	for range 1000 {
		if c, err := (&net.Dialer{}).DialContext(context.Background(), "unix", socket); err == nil {
			return c.Close()
		}
		select {
		case <-m.ended:
			return fmt.Errorf("the server has ended: %s", m.server.ProcessState)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("the server does not listen at %s", socket)
}

// close ends both, and removes the folder. Links and sandboxes end with the namespaces.
func (m *machine) close() {
	if m.Process != nil {
		m.Process.Kill()
	}
	_ = m.server.Process.Signal(syscall.SIGTERM)
	<-m.ended
	_ = os.RemoveAll(m.folder)
}

// usage returns the resources that the server has used.
type usage struct{ seconds, allocations float64 }

func (u usage) plus(other usage) usage {
	return usage{u.seconds + other.seconds, u.allocations + other.allocations}
}

func (u usage) minus(other usage) usage {
	return usage{u.seconds - other.seconds, u.allocations - other.allocations}
}

// used reads it from the server's metrics.
func (m *machine) used() (u usage, err error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+metrics+"/metrics", nil)
	if err != nil {
		return u, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return u, fmt.Errorf("reading the server's metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		switch name {
		case "process_cpu_seconds_total":
			u.seconds, err = strconv.ParseFloat(value, 64)
		case "go_memstats_mallocs_total":
			u.allocations, err = strconv.ParseFloat(value, 64)
		}
		if err != nil {
			return u, fmt.Errorf("reading the server's metrics: %w", err)
		}
	}
	return u, lines.Err()
}
