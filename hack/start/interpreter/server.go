// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
)

// server is the program that is shown, with its folder.
type server struct {
	console.Provider
	folder string
	// url is where it answers.
	url string

	process *exec.Cmd
	// exited is closed when the process has ended, with an error or nil.
	exited chan struct{}
	result error
}

func (s *server) logPath() string       { return filepath.Join(s.folder, "program.log") }
func (s *server) configuration() string { return filepath.Join(s.folder, "configuration.yaml") }

// authority is the file with the certificate by which callers know the server, which the program writes itself.
func (s *server) authority() string { return filepath.Join(s.folder, "certificate", "ca.crt") }

// patience is how long the program may take until it answers, on a machine that does much else.
const patience = 30 * time.Second

// start runs the program and waits until it listens.
func (s *server) start(ctx context.Context, t *console.Terminal) error {
	return t.Phase("graft-resource-interpreter, until it listens", func(func(string)) (string, error) {
		log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return "", fmt.Errorf("opening the log: %w", err)
		}
		defer func() { _ = log.Close() }()
		s.process = exec.Command(s.Program, "--profiles", s.Profile, "--certificate-folder", filepath.Dir(s.authority()), //nolint:noctx // stop ends it
			"--listen", "127.0.0.1:0", "--metrics-address", "0", "--log-format", "text")
		s.process.Stderr = log
		exited := make(chan struct{})
		if err := console.Child(s.process, func(err error) { s.result = err; close(exited) }); err != nil {
			s.process = nil
			return "", fmt.Errorf("starting the program: %w", err)
		}
		s.exited = exited
		err = s.await(ctx)
		return s.url + ", with a certificate of its own, Gardener's kinds, and " + s.Profile, err
	})
}

// listening is what the log says when the program listens, and where.
var listening = regexp.MustCompile(`Listening\s.*"address": "([^"]+)"`)

func (s *server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		text, err := os.ReadFile(s.logPath())
		if found := listening.FindSubmatch(text); found != nil {
			s.url = "https://" + string(found[1])
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the program: %w; its log ends with:\n%s", errors.Join(ctx.Err(), err), s.tail())
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

// stop ends the program as a kubelet does, and what does not end then as a loss of power does.
func (s *server) stop() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(patience):
		_ = s.process.Process.Kill()
		<-s.exited
	}
	s.process = nil
}
