// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package network

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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

const (
	provider = "../../bin/graft-network-provider"
	graft    = "../../bin/graft"
	// patience bounds every wait.
	patience = 20 * time.Second
)

const profile = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: replicas}
pools:
  overlay: {subnets: [{prefix: 10.0.0.0/24, ranges: [10.0.0.1-10.0.0.%d]}], rest: 0s}
profiles:
  overlay: {pools: [overlay]}
`

const configuration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles: {paths: [%[1]s/profile.yaml]}
ledger: {etcd: {endpoints: [%[2]s], prefix: /replicas%[3]s}}
listeners: [{address: "unix://%[1]s/s", contracts: [dranet]}]
administration: {address: "unix://%[1]s/admin.sock"}
metrics: {address: "0"}
logging: {level: info, format: text}
`

// program is one replica.
type program struct {
	t       *testing.T
	folder  string
	client  *http.Client
	process *exec.Cmd
	ended   chan struct{}
	log     *log
}

// log is what a program says.
type log struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

// Write implements io.Writer.
func (l *log) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(text)
}

// String is all of it.
func (l *log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// prepare writes the files of a replica: a pool of so many addresses, in an etcd that is reached with these fields.
func prepare(t *testing.T, c *cluster.Cluster, addresses int, fields string) *program {
	t.Helper()
	for _, binary := range []string{provider, graft} {
		if _, err := os.Stat(binary); err != nil {
			t.Fatalf("%v; `make build` builds it", err)
		}
	}
	folder, err := os.MkdirTemp("", "replica") // the names of unix sockets are short
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, folder: folder, log: &log{}}
	p.client = &http.Client{Timeout: patience, Transport: &http.Transport{
		MaxIdleConnsPerHost: 16,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(folder, "s"))
		},
	}}
	t.Cleanup(func() {
		p.stop(syscall.SIGKILL)
		_ = os.RemoveAll(folder)
	})
	for name, text := range map[string]string{
		"profile.yaml": fmt.Sprintf(profile, addresses),
		"config.yaml":  fmt.Sprintf(configuration, folder, c.Endpoints[0], fields),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// answers returns when the program does.
func (p *program) answers() {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if response, err := p.client.Get("http://localhost/health"); err == nil {
			_ = response.Body.Close()
			return
		}
		select {
		case <-p.ended:
			p.t.Fatalf("the program has ended; it said\n%s", p.log)
		default:
		}
	}
	p.t.Fatalf("the program does not answer; it said\n%s", p.log)
}

// start starts the program. It does not wait.
func (p *program) start() {
	p.t.Helper()
	p.process = exec.Command(provider, "--config", filepath.Join(p.folder, "config.yaml"))
	p.process.Stdout, p.process.Stderr = p.log, p.log
	// It goes when the test does, however that ends.
	p.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.process.Start(); err != nil {
		p.t.Fatal(err)
	}
	process, ended := p.process, make(chan struct{})
	p.ended = ended
	go func() {
		defer close(ended)
		_ = process.Wait()
	}()
}

// stop ends the program if it runs, and gives its status; -1 where a signal has ended it.
func (p *program) stop(by syscall.Signal) int {
	if p.process == nil {
		return 0
	}
	_ = p.process.Process.Signal(by)
	<-p.ended
	p.client.CloseIdleConnections()
	return p.process.ProcessState.ExitCode()
}

// refuses starts the program, which is to end by itself, and gives its status and what it says.
func (p *program) refuses() (status int, said string) {
	p.t.Helper()
	p.start()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("the program does not end; it said\n%s", p.log)
	}
	return p.process.ProcessState.ExitCode(), p.log.String()
}

// allocate asks for an address of a claim; empty: there was no answer, or none with an address.
func (p *program) allocate(claim string) (address string, status int) {
	status, text := p.post("/GetProfileConfig", claim)
	var answer struct {
		Interface struct{ Addresses []string }
	}
	if status != http.StatusOK || json.Unmarshal([]byte(text), &answer) != nil || len(answer.Interface.Addresses) != 1 {
		return "", status
	}
	return answer.Interface.Addresses[0], status
}

// release gives back what a claim holds.
func (p *program) release(claim string) {
	p.t.Helper()
	if status, said := p.post("/ReleaseProfileConfig", claim); status != http.StatusOK {
		p.t.Errorf("the release of %s: %d %s", claim, status, said)
	}
}

// post makes a call of DRANET's contract; status 0 says that there was no answer.
func (p *program) post(path, claim string) (status int, answer string) {
	body := `{"device":{"name":"eth1","pci_address":"0000:27:00.2"},"claim_uid":"` + claim + `","config":{"profile":"overlay","interface":{"name":"net1"}}}`
	response, err := p.client.Post("http://localhost"+path, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, ""
	}
	return response.StatusCode, string(raw)
}

// ledger runs graft ledger through the program's administration, and gives what it says and its status.
func (p *program) ledger(arguments ...string) string {
	p.t.Helper()
	command := exec.Command(graft, append(append([]string{"ledger"}, arguments...), "--server=unix://"+filepath.Join(p.folder, "admin.sock"))...)
	said, _ := command.CombinedOutput()
	return fmt.Sprintf("%d: %s", command.ProcessState.ExitCode(), strings.TrimSpace(strings.ReplaceAll(string(said), p.folder, "")))
}
