// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command graft-controlplane writes control planes with Gardener's own component code. It reads the options of one control plane
// after the other from standard input, as JSON, and writes one control plane a line; graft runs it, so that the weight of that
// code is not graft's. The options and what is written are those of package scene.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	// Before anything that links Gardener's packages: one of them prints a line of its own when the program starts.
	_ "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/quiet"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene/gardener"
)

func main() { os.Exit(run()) }

func run() int {
	// It lives for a second, and writes much that is soon forgotten: fewer collections take half the time.
	debug.SetGCPercent(400)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "Error: graft-controlplane takes no arguments: it reads options from standard input, and graft runs it")
		return 2
	}
	if err := gardener.Serve(ctx, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	return 0
}
