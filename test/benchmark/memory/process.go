// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/benchmark/apart"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// patience is the maximum time until a program is ready.
const patience = 10 * time.Minute

// process is a running program with its addresses.
type process struct {
	command *exec.Cmd
	begun   time.Time
	output  bytes.Buffer
	exited  chan struct{}

	env.Extension
	url    string // of the webhook
	client *http.Client
}

// spawn starts a program. end stops it.
func (p *process) spawn(path string, arguments ...string) error {
	p.command = exec.Command(path, arguments...) //nolint:noctx // end waits for the exit
	p.command.Stdout, p.command.Stderr = &p.output, &p.output
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.exited = make(chan struct{})
	p.begun = time.Now()
	if err := p.command.Start(); err != nil {
		return err
	}
	go func() {
		_ = p.command.Wait()
		close(p.exited)
	}()
	return nil
}

func (p *process) end() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(20 * time.Second):
		_ = p.command.Process.Kill()
		<-p.exited
	}
}

// wait polls until a condition is true, and returns the time since the start of the program.
func (p *process) wait(ctx context.Context, what string, so func() bool) (time.Duration, error) {
	for time.Since(p.begun) < patience && ctx.Err() == nil {
		select {
		case <-p.exited:
			return 0, fmt.Errorf("%s has ended:\n%s", p.command.Path, p.output.String())
		default:
		}
		if so() {
			return time.Since(p.begun), nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0, errors.Join(fmt.Errorf("waiting for %s until %s", p.command.Path, what), ctx.Err())
}

// waitReady waits until /readyz succeeds.
func (p *process) waitReady(ctx context.Context) (time.Duration, error) {
	return p.wait(ctx, "it is ready", func() bool {
		_, err := p.fetch(ctx, "http://"+p.Health+"/readyz")
		return err == nil
	})
}

func (p *process) fetch(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return apart.Do(http.DefaultClient, request)
}

// trust creates the client that calls the webhook as kube-apiserver does.
func (p *process) trust(bundle []byte) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return errors.New("the webhook has no CA bundle")
	}
	p.client = apart.NewClient(roots)
	return nil
}

// resident returns the current and the maximum resident memory of the process, in bytes.
func (p *process) resident() (now, most int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	return kilobytes(status, "VmRSS:"), kilobytes(status, "VmHWM:"), nil
}

// live returns the size of the process's live heap, in bytes.
func (p *process) live(ctx context.Context) (int64, error) {
	if _, err := p.fetch(ctx, "http://"+p.Metrics+"/debug/pprof/heap?gc=1"); err != nil {
		return 0, err
	}
	metrics, err := p.fetch(ctx, "http://"+p.Metrics+"/metrics")
	if err != nil {
		return 0, err
	}
	for scanner := bufio.NewScanner(bytes.NewReader(metrics)); scanner.Scan(); {
		if value, ok := strings.CutPrefix(scanner.Text(), "go_memstats_heap_alloc_bytes "); ok {
			bytes, err := strconv.ParseFloat(value, 64)
			return int64(bytes), err
		}
	}
	return 0, errors.New("no metric says what is on the heap")
}

// kilobytes returns the value of a line of /proc in bytes, or 0 without the line.
func kilobytes(content []byte, name string) int64 {
	for line := range strings.Lines(string(content)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			value, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return value << 10
		}
	}
	return 0
}
