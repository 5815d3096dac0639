// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"path/filepath"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
)

// server is the program that is shown, with its folder.
type server struct {
	console.Provider
	console.Process

	folder string
}

func newServer(o console.Provider, folder string) *server {
	return &server{Provider: o, folder: folder, Process: console.Process{Name: "the program", Log: filepath.Join(folder, "program.log")}}
}

func (s *server) socket() string { return filepath.Join(s.folder, "dranet.sock") }
func (s *server) ledger() string { return filepath.Join(s.folder, "ledger") }

// start runs the program and waits until it answers.
func (s *server) start(ctx context.Context, t *console.Terminal, what string) error {
	return t.Phase(what, func(func(string)) (string, error) {
		err := s.Start(s.Program, "--profiles", s.Profile, "--ledger", s.ledger(), "--listen", "dranet=unix://"+s.socket(),
			"--node", "worker-1", "--metrics-address", "0", "--log-format", "text")
		if err == nil {
			err = s.Await(ctx, s.answers)
		}
		return "with " + s.Profile, err
	})
}

// answers connects to the program.
func (s *server) answers(ctx context.Context) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", s.socket())
	if err != nil {
		return err
	}
	return connection.Close()
}
