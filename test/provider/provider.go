// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package provider runs bin/graft-network-provider as a process, for tests that end it and start it again. Enter at New.
package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/running"
)

// binary is what a suite below test runs.
const binary = "../../bin/graft-network-provider"

// patience bounds every wait.
const patience = time.Minute

// mostLogged is how much is kept of what a program says, in bytes.
const mostLogged = 1 << 18

// Program is one server with a folder of its own, in which config.yaml is its configuration.
type Program struct {
	Folder string
	// Log is what it has said lately, in all its lives.
	Log *running.Log
	// Killed says that this life was ended by Kill.
	Killed atomic.Bool
	// FileBlocks bounds each file that the program writes, in blocks of 512 bytes, as a full disk does; 0: nothing does.
	FileBlocks int
	// Sockets are passed to the program by their names, as systemd passes those that it has opened. They stay the caller's.
	Sockets map[string]*os.File

	t      testing.TB
	client *http.Client
	ended  chan struct{}
	// beginning is held while a life begins: a call that the last one has made may arrive by then, and want to kill.
	beginning sync.Mutex
	process   *exec.Cmd
}

// New makes the folder, which is gone with the program when the test ends.
func New(t testing.TB) *Program {
	t.Helper()
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%v; `make build` builds it", err)
	}
	folder, err := os.MkdirTemp("", "provider") // the names of unix sockets are short
	if err != nil {
		t.Fatal(err)
	}
	p := &Program{t: t, Folder: folder, Log: &running.Log{Most: mostLogged}}
	p.client = &http.Client{Timeout: patience, Transport: &http.Transport{
		MaxIdleConnsPerHost: 16,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", p.Socket())
		},
	}}
	t.Cleanup(func() {
		if p.process != nil {
			p.Kill()
			p.Gone()
		}
		_ = os.RemoveAll(folder)
	})
	return p
}

// Socket is where the contract of DRANET must be answered.
func (p *Program) Socket() string { return filepath.Join(p.Folder, "s") }

// Write writes a file into the folder.
func (p *Program) Write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.Folder, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// Start starts the program. It does not wait.
func (p *Program) Start() {
	p.t.Helper()
	p.beginning.Lock()
	defer p.beginning.Unlock()
	limit := "unlimited"
	if p.FileBlocks > 0 {
		limit = strconv.Itoa(p.FileBlocks)
	}
	// The number of the process is known when it is there, and the same after exec.
	process := exec.CommandContext(context.WithoutCancel(p.t.Context()), "sh", "-c", `ulimit -f "$0" && LISTEN_PID=$$ exec "$@"`, limit,
		binary, "--config", filepath.Join(p.Folder, "config.yaml"))
	names := slices.Sorted(maps.Keys(p.Sockets))
	for _, name := range names {
		process.ExtraFiles = append(process.ExtraFiles, p.Sockets[name]) // the first is number 3, as with systemd
	}
	process.Env = append(os.Environ(), "LISTEN_FDS="+strconv.Itoa(len(names)), "LISTEN_FDNAMES="+strings.Join(names, ":"))
	process.Stdout, process.Stderr = p.Log, p.Log
	p.Killed.Store(false)
	if err := process.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan struct{})
	p.process, p.ended = process, ended
	go func() {
		defer close(ended)
		_ = process.Wait()
	}()
}

// Ready waits until the program answers; false when it was killed meanwhile.
func (p *Program) Ready() bool {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
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
			if !p.Killed.Load() {
				p.t.Fatalf("the program has ended by itself; it said\n%s", p.Log)
			}
			return false
		default:
		}
	}
	p.t.Fatalf("the program does not answer; it said\n%s", p.Log)
	return false
}

// Kill ends the program at once, as a loss of power does for a process. It does not wait, and what the program has started goes on.
func (p *Program) Kill() {
	p.beginning.Lock()
	defer p.beginning.Unlock()
	p.Killed.Store(true)
	_ = p.process.Process.Kill()
}

// Stop asks the program to end, and gives its status.
func (p *Program) Stop() int {
	p.t.Helper()
	if err := p.process.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Error(err)
	}
	return p.Gone()
}

// Gone waits until the process is gone, and gives its status; -1 where it was killed.
func (p *Program) Gone() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("the program does not end; it said\n%s", p.Log)
	}
	p.client.CloseIdleConnections()
	return p.process.ProcessState.ExitCode()
}

// Post makes a call of DRANET's contract for a claim and a device that is always the same; status 0 says that there was no answer.
func (p *Program) Post(path, claim string, config any) (status int, answer string) {
	return p.PostDevice(path, claim, map[string]string{"name": "eth1", "pci_address": "0000:27:00.2"}, config)
}

// PostDevice is Post for a device of a claim that may have others.
func (p *Program) PostDevice(path, claim string, device map[string]string, config any) (status int, answer string) {
	body, err := json.Marshal(map[string]any{"device": device, "claim_uid": claim, "config": config})
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
