// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
)

// server is the program that is shown, with its folder.
type server struct {
	console.Provider
	folder, log string

	process *exec.Cmd
	// exited is closed when the process has ended, with an error or nil.
	exited chan struct{}
	result error
}

func (s *server) socket() string  { return filepath.Join(s.folder, "dranet.sock") }
func (s *server) ledger() string  { return filepath.Join(s.folder, "ledger") }
func (s *server) logPath() string { return filepath.Join(s.folder, s.log) }

// startTimeout is how long the program may take until it answers, on a machine that does much else.
const startTimeout = 30 * time.Second

// start runs the program and waits until it answers.
func (s *server) start(ctx context.Context, t *console.Terminal, what string) error {
	return t.Phase(what, func(func(string)) (string, error) {
		log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return "", fmt.Errorf("opening the log: %w", err)
		}
		defer func() { _ = log.Close() }()
		s.process = exec.Command(s.Program, "--profiles", s.Profile, "--ledger", s.ledger(), "--listen", "dranet=unix://"+s.socket(), //nolint:noctx // stop ends it
			"--node", "worker-1", "--metrics-address", "0", "--log-format", "text")
		s.process.Stderr = log
		exited := make(chan struct{})
		if err := console.Child(s.process, func(err error) { s.result = err; close(exited) }); err != nil {
			s.process = nil
			return "", fmt.Errorf("starting the program: %w", err)
		}
		s.exited = exited
		return "with " + s.Profile, s.await(ctx)
	})
}

func (s *server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", s.socket())
		if err == nil {
			return connection.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the program: %w; its log ends with:\n%s", err, s.tail())
		case <-s.exited:
			return s.ended()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// ended is the error of a program that was not to end.
func (s *server) ended() error {
	s.process = nil
	err := s.result
	if err == nil {
		err = errors.New("without an error")
	}
	return fmt.Errorf("the program ended (%w); its log ends with:\n%s", err, s.tail())
}

func (s *server) tail() string {
	text, _ := os.ReadFile(s.logPath())
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// kill ends the program as a loss of power does.
func (s *server) kill() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	<-s.exited
	s.process = nil
}

// stop ends the program as a kubelet does.
func (s *server) stop() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
		s.process = nil
	case <-time.After(startTimeout):
		s.kill()
	}
}
