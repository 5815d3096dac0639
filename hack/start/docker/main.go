// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command docker shows two containers that talk over a Graft network: it runs a real dockerd and graft-network-provider on a machine of their own
// (package engine), makes a network and containers with docker, kills the provider while they talk, and cleans up; it says of each step whether
// it went as it should. `make start-docker` builds what it needs and runs it; with ONCE=1 it ends then, with status 1 if something is not as it
// should be.
//
// It is a demonstration and a check of a checkout; nothing of it is part of the product. Enter at show; what is shown is in steps.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// profile is the one that is served where no other is named.
const profile = "example/network/docker.yaml"

func main() { console.Main("docker", "bin/graft-network-provider", profile, demonstrate) }

// demonstrate shows it with a dockerd, or where there is none to be had, what can be shown without.
func demonstrate(ctx context.Context, o console.Provider, t *console.Terminal) error {
	err := show(ctx, o, t)
	if errors.Is(err, engine.ErrUnavailable) {
		err = instead(ctx, err, t)
	}
	return err
}

// show runs everything on a machine that is gone at the end.
func show(ctx context.Context, o console.Provider, t *console.Terminal) (err error) {
	t.Line("%s", t.Dim("dockerd and the provider run in namespaces of their own: this machine gets no link, no route and no service of theirs."))
	s, err := open(ctx, o, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.machine.Halt()) }()
	for _, step := range steps() {
		if err := step.do(ctx, s); err != nil {
			return err
		}
	}
	t.Line("\n%s Everything went as it should.", t.Paint("1;32", "OK"))
	if o.Once {
		return nil
	}
	t.Line(`
Both stay up until Ctrl-C. Try it yourself:

    export DOCKER_HOST=%s
    %s
    docker run --rm -it --network blue %s /bin/sh
    %s ledger inspect %s

%s`, s.dockerd.Host(), create, image, o.Graft, s.machine.Ledger(), t.Dim("Everything is in "+s.machine.Folder+", which is removed at the end."))
	<-ctx.Done()
	t.Line("\nStopping.")
	return nil
}

// instead shows what can be shown without a dockerd.
func instead(ctx context.Context, why error, t *console.Terminal) error {
	t.Line(`
%s %v.

THERE ARE NO CONTAINERS THEN. The network controllers of Docker Engine 28 and 29, built from their Go modules, make networks through the provider's
socket instead, and two sandboxes on each, which are what containers have of networks. This is what `+"`make test-libnetwork`"+` does; here is a part of it.
`, t.Paint("1;31", "NO DOCKERD:"), why)
	c := exec.CommandContext(ctx, "make", "--no-print-directory", "test-libnetwork", "TESTFLAGS=-v -count=1 -run '^(TestBridge|TestPools|TestReboot)$$'")
	c.Stdout, c.Stderr = t, t
	return c.Run()
}

// fail is an error that says what should have been.
func fail(format string, arguments ...any) error { return fmt.Errorf(format, arguments...) }
