// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command graft-controlplane generates control planes with Gardener's own component code. It reads options from
// stdin, one JSON object per control plane, and writes one control plane per line. graft runs it, so that graft
// itself does not link that code. Package snapshot defines options and output.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	// This import precedes Gardener's packages, one of which prints a line at program start.
	_ "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/quiet"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot/gardener"
)

func main() { os.Exit(run()) }

func run() int {
	// The program runs for about a second with much short-lived memory. Fewer collections halve its time.
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
