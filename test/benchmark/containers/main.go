// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command containers measures how much time a network adds to the start and the end of a container: dockerd runs the
// same container without a network, on its own bridges, and on Graft's networks, in turns. docs/benchmarks.md explains
// the rows and has a table. It needs Debian's docker.io and busybox-static. Times do not decide whether the command
// succeeds. Start reading at main; rows.go lists the rows.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// options are the flags.
type options struct {
	rounds           int
	rows             *regexp.Regexp
	program, profile string
}

func main() {
	o, rows := options{}, "."
	flag.IntVar(&o.rounds, "rounds", 30, "how many containers each row starts")
	flag.StringVar(&rows, "rows", rows, "regular expression of the rows to measure; the one without a network always is")
	flag.StringVar(&o.program, "program", "bin/graft-network-provider", "the provider")
	flag.StringVar(&o.profile, "profile", "test/benchmark/containers/testdata/acme.yaml",
		"its profile, which has acme.com/leased")
	flag.Parse()
	var err error
	if o.rows, err = regexp.Compile(rows); err != nil || o.rounds < 1 {
		fmt.Fprintln(os.Stderr, "-rows must be a regular expression, and -rounds positive")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	program, err := filepath.Abs(o.program)
	if err != nil {
		return err
	}
	profile, err := filepath.Abs(o.profile)
	if err != nil {
		return err
	}
	on, err := engine.Prepare(ctx, os.Stderr)
	if err != nil {
		return err
	}
	machine, err := on.Boot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, machine.Halt()) }()
	dockerd := machine.Dockerd(true)
	provider := machine.Provider(program, profile, "--log-level=debug", "--log-format=json")
	if err := provider.Start(ctx); err != nil {
		return err
	}
	if err := dockerd.Start(ctx); err != nil {
		return err
	}
	if err := dockerd.Import(ctx); err != nil {
		return err
	}
	measured, err := measure(ctx, dockerd, &answers{path: provider.Log()}, o)
	if err != nil {
		return err
	}
	table(os.Stdout, measured)
	return nil
}
