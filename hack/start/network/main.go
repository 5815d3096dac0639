// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command network shows what graft-network-provider does: it runs the program on a socket with an example, plays DRANET's calls to it with
// curl, kills and starts it again, and says of each step whether it went as it should. `make start-network` builds what it needs and
// runs it; with ONCE=1 it ends then, with status 1 if something is not as it should be.
//
// It is a demonstration and a check of a checkout; nothing of it is part of the product.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
)

// options say what to show.
type options struct {
	program, graft, profile string
	once                    bool
}

func main() {
	// A pipe that closes, as under `| head`, must not end this program before the one that it started.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	status := run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

// run gives the exit status: 0 when everything is as it should be, 1 when not, 2 for a wrong command line.
func run(ctx context.Context, arguments []string) int {
	o := options{once: console.Truthy(os.Getenv("ONCE"))}
	set := flag.NewFlagSet("network", flag.ContinueOnError)
	set.StringVar(&o.program, "program", "bin/graft-network-provider", "the program that is shown")
	set.StringVar(&o.graft, "graft", "bin/graft", "the command line that looks into the ledger")
	set.StringVar(&o.profile, "profile", "example/network/acme.yaml", "the profile that is served")
	set.BoolVar(&o.once, "once", o.once, "end when all has been shown")
	switch err := set.Parse(arguments); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	terminal := console.New(os.Stdout, os.Getenv, cancel)
	err := show(ctx, o, terminal)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		terminal.Line("Interrupted; everything has been stopped.")
		return 130
	default:
		terminal.Failure(err)
		return 1
	}
}

// show runs everything in a folder that is gone at the end.
func show(ctx context.Context, o options, t *console.Terminal) (err error) {
	folder, err := os.MkdirTemp("", "graft-network-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	s := &server{options: o, folder: folder, log: "program.log"}
	defer s.stop()
	if err := s.start(ctx, t, "graft-network-provider, until it answers"); err != nil {
		return err
	}
	caller := newCaller(s.socket())
	t.Line("\n%s", caller.how)
	for _, step := range steps() {
		if err := step.do(ctx, s, caller, t); err != nil {
			return err
		}
	}
	t.Line("\n%s Everything went as it should.", t.Paint("1;32", "OK"))
	if o.once {
		return nil
	}
	t.Line("\n%s\n\n    curl --unix-socket %s http://localhost/health\n    %s ledger inspect %s\n\n%s", "It stays up until Ctrl-C. Ask it yourself, or change "+
		o.profile+" and see what it says in "+s.logPath()+":", s.socket(), o.graft, s.ledger(), t.Dim("Everything is in "+folder+", which is removed at the end."))
	select {
	case <-ctx.Done():
		t.Line("\nStopping the program.")
		return nil
	case <-s.exited:
		return s.ended()
	}
}
