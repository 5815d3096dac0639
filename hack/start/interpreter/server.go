// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
)

// server is the program that is shown, with its folder.
type server struct {
	console.Provider
	console.Process

	folder string
	// url is where it answers.
	url string
}

func newServer(o console.Provider, folder string) *server {
	return &server{Provider: o, folder: folder, Process: console.Process{Name: "the program", Log: filepath.Join(folder, "program.log")}}
}

func (s *server) configuration() string { return filepath.Join(s.folder, "configuration.yaml") }

// authority is the file with the certificate by which callers know the server, which the program writes itself.
func (s *server) authority() string { return filepath.Join(s.folder, "certificate", "ca.crt") }

// start runs the program and waits until it listens.
func (s *server) start(ctx context.Context, t *console.Terminal) error {
	return t.Phase("graft-resource-interpreter, until it listens", func(func(string)) (string, error) {
		err := s.Start(s.Program, "--profiles", s.Profile, "--certificate-folder", filepath.Dir(s.authority()),
			"--listen", "127.0.0.1:0", "--metrics-address", "0", "--log-format", "text")
		if err == nil {
			err = s.Await(ctx, s.listens)
		}
		return s.url + ", with a certificate of its own, Gardener's kinds, and " + s.Profile, err
	})
}

// listening is what the log says when the program listens, and where.
var listening = regexp.MustCompile(`Listening\s.*"address": "([^"]+)"`)

// listens finds the address in the log.
func (s *server) listens(context.Context) error {
	text, err := os.ReadFile(s.Log)
	if err != nil {
		return err
	}
	found := listening.FindSubmatch(text)
	if found == nil {
		return errors.New("it does not say where it listens")
	}
	s.url = "https://" + string(found[1])
	return nil
}
