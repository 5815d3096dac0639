// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// image is what containers are made of.
const image = engine.Image

// stage is the machine with both programs.
type stage struct {
	console.Provider
	terminal *console.Terminal
	machine  *engine.Machine
	dockerd  *engine.Dockerd
	provider *engine.Process
	// addresses are those of the containers, by name.
	addresses map[string]string
}

// open boots the machine and starts both programs.
func open(ctx context.Context, o console.Provider, t *console.Terminal) (s *stage, err error) {
	s = &stage{Provider: o, terminal: t, addresses: map[string]string{}}
	phase := func(name, summary string, step func() error) {
		if err == nil {
			err = t.Phase(name, func(func(string)) (string, error) { return summary, step() })
		}
	}
	on, err := engine.Prepare(ctx, t)
	if err != nil {
		return nil, err
	}
	phase("a machine out of namespaces", "mounts, networks, processes", func() error {
		s.machine, err = on.Boot(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	program, err := filepath.Abs(o.Program)
	if err != nil {
		return nil, err
	}
	profile, err := filepath.Abs(o.Profile)
	if err != nil {
		return nil, err
	}
	s.provider, s.dockerd = s.machine.Provider(program, profile), s.machine.Dockerd(false)
	phase("graft-network-provider, until it listens", "on "+engine.Plugin+", with "+o.Profile, func() error { return s.provider.Start(ctx) })
	phase("dockerd, until it answers", "on "+s.dockerd.Host(), func() error { return s.dockerd.Start(ctx) })
	phase("an image with busybox", image, func() error { return s.dockerd.Import(ctx) })
	if err != nil {
		return nil, errors.Join(err, s.machine.Halt())
	}
	return s, nil
}

// says shows a headline.
func (s *stage) says(text string) { s.terminal.Line("\n%s", s.terminal.Bold(text)) }

// typed shows a command.
func (s *stage) typed(line string) { s.terminal.Line("  %s", s.terminal.Dim("$ "+line)) }

// shown shows what a command has said.
func (s *stage) shown(text string) {
	if text = strings.TrimSpace(text); text != "" {
		s.terminal.Line("  %s", strings.ReplaceAll(text, "\n", "\n  "))
	}
}

// docker runs docker and shows both the command and what it says. What is in apostrophes is one argument.
func (s *stage) docker(ctx context.Context, line string) error {
	s.typed("docker " + line)
	out, err := s.dockerd.Do(ctx, split(line)...)
	if err == nil {
		s.shown(out)
	}
	return err
}

// kernel runs a command on the machine, in the namespace of its links, and shows both.
func (s *stage) kernel(ctx context.Context, line string) (string, error) {
	s.typed(line)
	parts := split(line)
	out, err := s.machine.Run(ctx, parts[0], parts[1:]...)
	if err != nil {
		return "", err
	}
	s.shown(out)
	return out, nil
}

// split is a command line as a shell reads it, as far as it is written here.
func split(line string) (arguments []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			arguments = append(arguments, part)
		} else {
			arguments = append(arguments, strings.Fields(part)...)
		}
	}
	return arguments
}
