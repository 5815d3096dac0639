// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package env

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
)

// logLimit limits the collected output of a network provider, in bytes.
const logLimit = 1 << 18

// NetworkProvider is a graft-network-provider process that a test can kill and start again. Its folder contains
// config.yaml.
type NetworkProvider struct {
	Folder string
	// Log is the recent output of all runs of the program.
	Log *Log
	// Killed reports whether Kill ended the current run.
	Killed atomic.Bool
	// FileBlocks limits the size of each file that the program writes, in blocks of 512 bytes, like a full disk; 0 means
	// no limit.
	FileBlocks int
	// Sockets are passed to the program by name, with the protocol of sd_listen_fds(3). The caller closes them.
	Sockets map[string]*os.File

	t       testing.TB
	program string
	ctx     context.Context // of the test; Ginkgo registers a cleanup for each call of t.Context
	client  *http.Client
	exited  chan struct{}
	// starting is held while the program starts. A late call of the previous run may want to kill the program at that
	// time.
	starting sync.Mutex
	process  *exec.Cmd
}

// NewNetworkProvider creates the folder. The cleanup of the test kills the program and removes the folder.
func NewNetworkProvider(t testing.TB) *NetworkProvider {
	t.Helper()
	program, err := Program(Root(), "graft-network-provider")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "provider") // the path of a unix socket has at most 107 characters
	if err != nil {
		t.Fatal(err)
	}
	p := &NetworkProvider{t: t, program: program, ctx: t.Context(), Folder: folder, Log: &Log{Limit: logLimit}}
	p.client = &http.Client{Timeout: timeout, Transport: &http.Transport{
		MaxIdleConnsPerHost: 16,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", p.Socket())
		},
	}}
	t.Cleanup(func() {
		if p.process != nil {
			p.Kill()
			p.WaitExit()
		}
		_ = os.RemoveAll(folder)
	})
	return p
}

// Socket returns the path of the socket for DRANET.
func (p *NetworkProvider) Socket() string { return filepath.Join(p.Folder, "s") }

// Write writes a file of the folder.
func (p *NetworkProvider) Write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.Folder, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// Start starts the program and returns without waiting until it is ready.
func (p *NetworkProvider) Start() {
	p.t.Helper()
	p.starting.Lock()
	defer p.starting.Unlock()
	limit := "unlimited"
	if p.FileBlocks > 0 {
		limit = strconv.Itoa(p.FileBlocks)
	}
	// The shell knows its process ID, which LISTEN_PID needs and which exec keeps.
	process := exec.CommandContext(context.WithoutCancel(p.ctx), "sh", "-c",
		`ulimit -f "$0" && LISTEN_PID=$$ exec "$@"`, limit,
		p.program, "--config", filepath.Join(p.Folder, "config.yaml"))
	names := slices.Sorted(maps.Keys(p.Sockets))
	for _, name := range names {
		process.ExtraFiles = append(process.ExtraFiles, p.Sockets[name]) // the first one gets number 3, as with systemd
	}
	process.Env = append(os.Environ(), "LISTEN_FDS="+strconv.Itoa(len(names)), "LISTEN_FDNAMES="+strings.Join(names, ":"))
	process.Stdout, process.Stderr = p.Log, p.Log
	p.Killed.Store(false)
	if err := process.Start(); err != nil {
		p.t.Fatal(err)
	}
	exited := make(chan struct{})
	p.process, p.exited = process, exited
	go func() {
		defer close(exited)
		_ = process.Wait()
	}()
}

// Ready waits until the program answers. It returns false if Kill ended the program in the meantime.
func (p *NetworkProvider) Ready() bool {
	p.t.Helper()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		request, err := http.NewRequestWithContext(p.ctx, http.MethodGet, "http://localhost/health", nil)
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
		case <-p.exited:
			if !p.Killed.Load() {
				p.t.Fatalf("the program exited unexpectedly; its output:\n%s", p.Log)
			}
			return false
		default:
		}
	}
	p.t.Fatalf("the program does not answer; its output:\n%s", p.Log)
	return false
}

// Kill sends SIGKILL and returns without waiting. Processes that the program has started continue.
func (p *NetworkProvider) Kill() {
	p.starting.Lock()
	defer p.starting.Unlock()
	p.Killed.Store(true)
	_ = p.process.Process.Kill()
}

// Signal sends a signal to the program.
func (p *NetworkProvider) Signal(signal os.Signal) {
	p.starting.Lock()
	defer p.starting.Unlock()
	_ = p.process.Process.Signal(signal)
}

// Stop sends SIGTERM, waits until the program has exited and returns its exit status.
func (p *NetworkProvider) Stop() int {
	p.t.Helper()
	if err := p.process.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Error(err)
	}
	return p.WaitExit()
}

// WaitExit waits until the program has exited and returns its exit status, or -1 if it was killed.
func (p *NetworkProvider) WaitExit() int {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(timeout):
		p.t.Fatalf("the program does not exit; its output:\n%s", p.Log)
	}
	p.client.CloseIdleConnections()
	return p.process.ProcessState.ExitCode()
}

// Post sends a DRANET request for a claim and a fixed device. It returns the HTTP status and the body; status 0 means
// that no response arrived.
func (p *NetworkProvider) Post(path, claim string, config any) (status int, answer string) {
	return p.PostDevice(path, claim, map[string]string{"name": "eth1", "pci_address": "0000:27:00.2"}, config)
}

// PostDevice sends a DRANET request for a claim and the given device. It returns the same as Post.
func (p *NetworkProvider) PostDevice(path, claim string, device map[string]string, config any) (status int,
	answer string) {
	body, err := json.Marshal(map[string]any{"device": device, "claim_uid": claim, "config": config})
	if err != nil {
		p.t.Error(err)
		return 0, ""
	}
	request, err := http.NewRequestWithContext(p.ctx, http.MethodPost, "http://localhost"+path, bytes.NewReader(body))
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
