// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command docker shows two containers of a dockerd that communicate over a network of graft-network-provider, their
// rows in its ledger, and that they keep working while the provider is killed. dockerd and the provider run in their
// own namespaces, so that this machine gets no link, no route and no service. `make start-docker` builds and runs it.
// Start reading at show.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/demo"
	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// create is the command that creates the network.
const create = "network create -d graft -o profile=acme.com/overlay --ipam-driver graft --ipam-opt profile=acme.com/overlay blue"

func main() {
	set := flag.NewFlagSet("docker", flag.ExitOnError)
	program := set.String("program", "bin/graft-network-provider", "the program that is shown")
	profile := set.String("profile", "example/network/docker.yaml", "the profile that is served")
	demo.Main(set, func(ctx context.Context, d *demo.Demo) error {
		err := show(ctx, d, *program, *profile)
		if errors.Is(err, engine.ErrUnavailable) {
			err = fmt.Errorf("%w; `make test-libnetwork` uses Docker's network controllers without it", err)
		}
		return err
	})
}

// stage is a machine with dockerd and the provider.
type stage struct {
	*demo.Demo
	machine  *engine.Machine
	dockerd  *engine.Dockerd
	provider *engine.Process
	// addresses are the addresses of the containers by name.
	addresses map[string]string
}

// show runs all steps.
func show(ctx context.Context, d *demo.Demo, program, profile string) (err error) {
	s := &stage{Demo: d, addresses: map[string]string{}}
	on, err := engine.Prepare(ctx, s)
	if err != nil {
		return err
	}
	if s.machine, err = on.Boot(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.machine.Halt()) }()
	if err := s.start(ctx, program, profile); err != nil {
		return err
	}
	for _, step := range []struct {
		title string
		run   func(context.Context) error
	}{
		{"A network: a profile says what it is in the kernel, and where its addresses come from", func(ctx context.Context) error {
			return s.docker(ctx, create)
		}},
		{"Two containers", func(ctx context.Context) error { return s.run(ctx, "one", "two") }},
		{"They talk", func(ctx context.Context) error { return s.ping(ctx, "one", "two") }},
		{"The ledger has the addresses of Docker's containers, as all others", func(ctx context.Context) error {
			_, err := s.Command(ctx, []string{demo.Graft, "ledger", "inspect", s.machine.Ledger()}, s.addresses["one"], s.addresses["two"])
			return err
		}},
		{"The provider is killed (SIGKILL) while they talk, and started again", s.kill},
		{"It has forgotten nothing: another container comes, and talks to the first", func(ctx context.Context) error {
			return errors.Join(s.run(ctx, "three"), s.ping(ctx, "three", "one"))
		}},
		{"All are removed, and nothing is left", s.remove},
	} {
		s.Title(step.title)
		if err := step.run(ctx); err != nil {
			return err
		}
	}
	s.Printf("\nOK Everything went as it should.")
	if s.Once {
		return nil
	}
	s.Printf("\nBoth stay up until Ctrl-C:\n\n    export DOCKER_HOST=%s\n    docker %s\n    docker run --rm -it --network blue %s /bin/sh\n    %s ledger inspect %s",
		s.dockerd.Host(), create, engine.Image, demo.Graft, s.machine.Ledger())
	<-ctx.Done()
	return nil
}

// start starts the provider and dockerd.
func (s *stage) start(ctx context.Context, program, profile string) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	if profile, err = filepath.Abs(profile); err != nil {
		return err
	}
	s.provider, s.dockerd = s.machine.Provider(program, profile), s.machine.Dockerd(false)
	if err := s.Phase("graft-network-provider on "+engine.Plugin, func() error { return s.provider.Start(ctx) }); err != nil {
		return err
	}
	if err := s.Phase("dockerd on "+s.dockerd.Host(), func() error { return s.dockerd.Start(ctx) }); err != nil {
		return err
	}
	return s.Phase("an image with busybox", func() error { return s.dockerd.Import(ctx) })
}

// docker prints and runs a command of docker, and prints its output, which must contain all wanted texts.
func (s *stage) docker(ctx context.Context, line string, wanted ...string) error {
	s.Printf("  $ docker %s", line)
	out, err := s.dockerd.Do(ctx, strings.Fields(line)...)
	s.Show(out)
	return errors.Join(err, demo.Contains(out, wanted...))
}

// run runs containers, and notes their addresses.
func (s *stage) run(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := s.docker(ctx, "run --detach --stop-timeout 0 --network blue --name "+name+" "+engine.Image+" /bin/sleep 1d"); err != nil {
			return err
		}
		address, err := s.dockerd.Do(ctx, "inspect", "--format={{(index .NetworkSettings.Networks \"blue\").IPAddress}}", name)
		if err != nil {
			return err
		}
		if address = strings.TrimSpace(address); address == "" {
			return fmt.Errorf("%s should have an address", name)
		}
		s.addresses[name] = address
		s.Printf("  %s has %s", name, address)
	}
	return nil
}

func (s *stage) ping(ctx context.Context, from, to string) error {
	return s.docker(ctx, "exec "+from+" /bin/ping -c 2 -W 3 "+s.addresses[to])
}

// kill stops the provider for half a second while the containers communicate, and starts it again.
func (s *stage) kill(ctx context.Context) error {
	done := make(chan error, 1)
	go func() {
		done <- s.docker(ctx, "exec one /bin/ping -i 0.1 -c 20 -W 3 -q "+s.addresses["two"], " 0% packet loss")
	}()
	time.Sleep(500 * time.Millisecond)
	if err := s.provider.Kill(); err != nil {
		return err
	}
	time.Sleep(500 * time.Millisecond)
	err := s.Phase("killed half a second ago, and started again", func() error { return s.provider.Start(ctx) })
	return errors.Join(err, <-done)
}

// remove removes the containers and the network, and checks that no addresses are left.
func (s *stage) remove(ctx context.Context) error {
	if err := errors.Join(s.docker(ctx, "rm --force one two three"), s.docker(ctx, "network rm blue")); err != nil {
		return err
	}
	held, err := s.Command(ctx, []string{demo.Graft, "ledger", "inspect", s.machine.Ledger()})
	for _, address := range s.addresses {
		if strings.Contains(held, address) {
			err = errors.Join(err, fmt.Errorf("%s is left in the ledger", address))
		}
	}
	return err
}
