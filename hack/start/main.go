// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command start shows what Graft does: it brings up a real etcd and kube-apiserver, starts the extension as a seed runs it,
// deploys the control plane of a shoot as Gardener writes it, and prints for each object what changed and which rule
// changed it. What the API server stored is compared with what the engine makes of the same objects; where they differ, the
// program says so and ends with status 1. `make start` builds what it needs and runs it.
//
// It is a demonstration and a check of a checkout; nothing of it is part of the product. Enter at start.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	// Before anything that links Gardener's packages: one of them prints a line of its own when the program starts.
	_ "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/quiet"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
)

func main() {
	ctx, stop := console.Context()
	status := run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

// run gives the exit status: 0 when everything is as the profiles say, 1 when not, 2 for a wrong command line.
func run(ctx context.Context, arguments []string) int {
	options, err := parseOptions(arguments, os.Getenv, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, "start:", err)
		return 2
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	terminal := console.New(os.Stdout, os.Getenv, cancel)
	return terminal.Status(ctx, start(ctx, options, terminal))
}
