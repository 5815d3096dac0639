// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package crash

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
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// program is graft-network-provider, started again and again on one ledger.
type program struct {
	t      *testing.T
	folder string
	client *http.Client
	log    *lockedBuffer

	process *exec.Cmd
	ended   chan struct{}
	// killed says that this process was killed by us.
	killed atomic.Bool
}

// lockedBuffer is what the processes have said lately.
type lockedBuffer struct {
	mutex sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.Len() > 1<<18 {
		b.Reset()
	}
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.Buffer.String()
}

const binary = "../../bin/graft-network-provider"

// prepare writes the profile and the configuration of a program.
func prepare(t *testing.T, f *fabric) *program {
	t.Helper()
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%v; `make build` builds it", err)
	}
	// The names of unix sockets are short.
	folder, err := os.MkdirTemp("", "crash")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	p := &program{t: t, folder: folder, log: &lockedBuffer{}}
	p.client = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		MaxIdleConnsPerHost: 16,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", p.socket())
		},
	}}
	for name, text := range map[string]string{
		"profile.yaml": fmt.Sprintf(profile, f.URL),
		"config.yaml":  fmt.Sprintf(configuration, filepath.Join(folder, "profile.yaml"), p.ledger(), p.socket()),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *program) socket() string { return filepath.Join(p.folder, "s") }
func (p *program) ledger() string { return filepath.Join(p.folder, "ledger") }

// The fabric's pool is as small as the owners are many, so that addresses go from hand to hand.
const profile = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: crash}
clouds:
  fabric:
    limit: {parallel: 64}
    http:
      url: %s
      bind:
        method: PUT
        path: "/ports/${ allocation.addresses[0] }"
        body: {owner: "${ allocation.owner }"}
        succeeded: "${ status == 200 }"
      unbind:
        method: DELETE
        path: "/ports/${ allocation.addresses[0] }?owner=${ allocation.owner }"
        succeeded: "${ status in [200, 404] }"
      find:
        method: GET
        path: "/ports/${ allocation.addresses[0] }?owner=${ allocation.owner }"
        found: "${ status == 200 }"
pools:
  fabric: {subnets: [{prefix: 10.1.0.0/24, ranges: [10.1.0.1-10.1.0.24]}], cloud: fabric, rest: 0s, exclusive: true}
  plain: {subnets: [{prefix: 10.2.0.0/24, ranges: [10.2.0.1-10.2.0.24]}], exclusive: true}
profiles:
  fabric: {pools: [fabric]}
  plain: {pools: [plain]}
`

const configuration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles: {paths: [%s]}
ledger: {path: %s}
listeners: [{address: "unix://%s", contracts: [dranet]}]
metrics: {address: "127.0.0.1:0"}
logging: {level: info, format: text}
`

// start starts the program. It does not wait.
func (p *program) start() {
	p.t.Helper()
	p.process = exec.CommandContext(p.t.Context(), binary, "--config", filepath.Join(p.folder, "config.yaml"))
	p.process.Stdout, p.process.Stderr = p.log, p.log
	p.killed.Store(false)
	if err := p.process.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan struct{})
	p.ended = ended
	process := p.process
	go func() {
		defer close(ended)
		_ = process.Wait()
	}()
}

// kill ends the program at once, as a loss of power does for a process.
func (p *program) kill() {
	p.killed.Store(true)
	_ = p.process.Process.Kill()
}

// gone waits until the process is gone.
func (p *program) gone() {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		p.t.Fatalf("the program does not end; it said\n%s", p.log)
	}
	p.client.CloseIdleConnections()
}

// ready waits until the program answers; false when it was killed meanwhile.
func (p *program) ready() bool {
	p.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://localhost/health", nil)
		if err != nil {
			p.t.Fatal(err)
		}
		if response, err := p.client.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return true
			}
		}
		select {
		case <-p.ended:
			if !p.killed.Load() {
				p.t.Fatalf("the program has ended by itself; it said\n%s", p.log)
			}
			return false
		default:
		}
	}
	p.t.Fatalf("the program does not answer; it said\n%s", p.log)
	return false
}

// post makes a call of DRANET's contract; status 0 says that there was no answer.
func (p *program) post(path string, o owner, config any) (status int, answer string) {
	body, err := json.Marshal(map[string]any{
		"device":    map[string]string{"name": "eth1", "pci_address": "0000:27:00.2"},
		"claim_uid": o.uid, "config": config,
	})
	if err != nil {
		p.t.Error(err)
		return 0, ""
	}
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, "http://localhost"+path, bytes.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return 0, ""
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := p.client.Do(request)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, ""
	}
	return response.StatusCode, string(raw)
}
