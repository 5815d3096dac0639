// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// readyTimeout bounds the start of the extension, and stopTimeout its end.
const (
	readyTimeout = 60 * time.Second
	stopTimeout  = 10 * time.Second
)

// configuration ends the extension without the delay that a Service needs to forget it.
const configuration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: ControllerConfiguration
shutdown: {delay: 0s, timeout: 5s}
`

// extension is the real program in a process of its own.
type extension struct {
	command *exec.Cmd
	log     string
	health  string
	exited  chan struct{}
}

// startExtension runs the program with the files and the account that are given. Its log goes to a file.
func startExtension(ctx context.Context, binary, kubeconfig, folder string, profiles []string) (*extension, error) {
	ports, err := freePorts(ctx, 2)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(folder, "extension.yaml")
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		return nil, fmt.Errorf("writing the configuration: %w", err)
	}
	e := &extension{log: filepath.Join(folder, "extension.log"), health: ports[1], exited: make(chan struct{})}
	log, err := os.Create(e.log)
	if err != nil {
		return nil, fmt.Errorf("creating the log: %w", err)
	}
	defer func() { _ = log.Close() }()
	_, port, _ := net.SplitHostPort(ports[0])
	arguments := []string{
		"--config=" + config, "--kubeconfig=" + kubeconfig,
		"--webhook-config-mode=url", "--webhook-config-url=" + ports[0],
		"--webhook-config-server-host=127.0.0.1", "--webhook-config-server-port=" + port,
		"--webhook-config-namespace=" + extensionNamespace,
		"--leader-election=false", "--metrics-bind-address=0", "--health-bind-address=" + e.health,
	}
	for _, path := range profiles {
		arguments = append(arguments, "--profile="+path)
	}
	// The end of the context must not kill it: stop ends it in the order in which a kubelet would.
	e.command = exec.CommandContext(context.WithoutCancel(ctx), binary, arguments...)
	e.command.Stdout, e.command.Stderr = log, log
	// A group of its own: Ctrl-C in the terminal reaches this program only.
	e.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := e.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", binary, err)
	}
	go func() {
		defer close(e.exited)
		_ = e.command.Wait()
	}()
	return e, nil
}

// freePorts are addresses on which nothing listens.
func freePorts(ctx context.Context, n int) ([]string, error) {
	var listeners []net.Listener
	defer func() {
		for _, listener := range listeners {
			_ = listener.Close()
		}
	}()
	addresses := make([]string, 0, n)
	for range n {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		listeners = append(listeners, listener)
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}

// waitReady returns when /readyz says that admissions would be answered.
func (e *extension) waitReady(ctx context.Context, now func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	waiting := "its health port"
	for {
		failed, err := e.failedChecks(ctx)
		switch {
		case err == nil && len(failed) == 0:
			return nil
		case err == nil:
			waiting = strings.Join(failed, ", ")
			now("waiting for " + waiting)
		}
		select {
		case <-e.exited:
			return fmt.Errorf("the extension ended with %s; its log %s ends with:\n%s", e.command.ProcessState, near(e.log), e.lastLines(15))
		case <-ctx.Done():
			return fmt.Errorf("the extension is not ready (%w), it waits for %s; its log %s ends with:\n%s", ctx.Err(), waiting, near(e.log), e.lastLines(15))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// failedChecks are the names of the readiness checks that fail.
func (e *extension) failedChecks(ctx context.Context) ([]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.health+"/readyz?verbose", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return nil, nil
	}
	failed := failedIn(string(body))
	if len(failed) == 0 {
		return nil, errors.New("the answer names no check")
	}
	return failed, nil
}

// failedIn reads the lines "[-]name failed: …" of a verbose answer.
func failedIn(body string) []string {
	var failed []string
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ := strings.Cut(rest, " ")
			failed = append(failed, strings.TrimSpace(name))
		}
	}
	return failed
}

// lastLines is the end of the log.
func (e *extension) lastLines(n int) string {
	content, err := os.ReadFile(e.log)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n")))
}

// stop ends the program as a kubelet does: it is asked first, and killed when it takes too long.
func (e *extension) stop() {
	_ = e.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-e.exited:
	case <-time.After(stopTimeout):
		_ = e.command.Process.Kill()
		<-e.exited
	}
}
