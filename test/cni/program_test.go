// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cni_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// program is graft-network-provider on a host, as DRANET meets it, killed and started again on one ledger.
type program struct {
	*host
	folder  string
	log     bytes.Buffer
	client  *http.Client
	process *exec.Cmd
}

const binary = "../../bin/graft-network-provider"

const documents = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: lan}
clouds:
  lan: {cni: {configuration: lan}}
pools:
  lan: {cloud: lan, exclusive: true}
profiles:
  acme.com/lan: {pools: [lan]}
`

const configuration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles: {paths: [%[1]s/profile.yaml]}
ledger: {path: %[1]s/ledger}
listeners: [{address: "unix://%[1]s/s", contracts: [dranet]}]
metrics: {address: "127.0.0.1:0"}
cni: {configurations: %[2]s, plugins: %[3]s}
logging: {level: info, format: text}
`

func newProgram(t *testing.T, h *host) *program {
	t.Helper()
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%v; `make build` builds it", err)
	}
	// The names of unix sockets are short.
	folder, err := os.MkdirTemp("", "cni")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	p := &program{host: h, folder: folder, client: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(folder, "s"))
		},
	}}}
	for name, text := range map[string]string{
		"profile.yaml": documents, "config.yaml": fmt.Sprintf(configuration, folder, h.options.Configurations, h.options.Plugins),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// start starts the program, and waits until it answers.
func (p *program) start() {
	p.Helper()
	p.log.Reset()
	p.process = exec.Command(binary, "--config", filepath.Join(p.folder, "config.yaml"))
	p.process.Stdout, p.process.Stderr = &p.log, &p.log
	if err := p.process.Start(); err != nil {
		p.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		response, err := p.client.Get("http://localhost/health")
		if err == nil {
			_ = response.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			p.kill()
			p.Fatalf("the program does not answer; it said\n%s", p.log.String())
		}
	}
}

// kill ends the program at once. The plugins that it runs go on to their ends, as they do when a server dies.
func (p *program) kill() {
	_ = p.process.Process.Kill()
	_ = p.process.Wait()
	p.client.CloseIdleConnections()
}

// post makes a call of DRANET's contract; status 0 says that there was no answer.
func (p *program) post(path, claim string) (status int, answer []byte) {
	body, err := json.Marshal(map[string]any{
		"device": map[string]string{"name": "eth1", "pci_address": "0000:27:00.2"}, "claim_uid": claim, "config": map[string]string{"profile": "acme.com/lan"},
	})
	if err != nil {
		p.Error(err)
		return 0, nil
	}
	response, err := p.client.Post("http://localhost"+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, nil
	}
	defer func() { _ = response.Body.Close() }()
	if answer, err = io.ReadAll(response.Body); err != nil {
		return 0, nil
	}
	return response.StatusCode, answer
}
