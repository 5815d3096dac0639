// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/signal"
	"syscall"
)

// Provider says what to show of a program: its path, those of the command line and of the profile, and whether it ends when all has been shown.
type Provider struct {
	Program, Graft, Profile string
	Once                    bool
}

// Main is the main function of a program that shows another one. It ends the process; see Run.
func Main(name, program, profile string, show func(context.Context, Provider, *Terminal) error) {
	ctx, stop := Context()
	status := Run(ctx, name, program, profile, os.Args[1:], show)
	stop()
	os.Exit(status)
}

// Run reads the flags, of which the program and the profile have the given defaults, and shows. It gives the exit status: 0 when everything is as it should
// be, 1 when not, 2 for a wrong command line, 130 when it was interrupted.
func Run(ctx context.Context, name, program, profile string, arguments []string, show func(context.Context, Provider, *Terminal) error) int {
	o := Provider{Once: Truthy(os.Getenv("ONCE"))}
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.StringVar(&o.Program, "program", program, "the program that is shown")
	set.StringVar(&o.Graft, "graft", "bin/graft", "the command line")
	set.StringVar(&o.Profile, "profile", profile, "the profile that is served")
	set.BoolVar(&o.Once, "once", o.Once, "end when all has been shown")
	switch err := set.Parse(arguments); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	terminal := New(os.Stdout, os.Getenv, cancel)
	return terminal.Status(ctx, show(ctx, o, terminal))
}

// Context is for a program that starts others: it ends by Ctrl-C and by what asks a program to end. A pipe that closes, as under `| head`, must not end the
// program before what it started: writing fails then instead. The signal is caught rather than ignored, because the programs that are started would inherit
// that.
func Context() (context.Context, context.CancelFunc) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// Status says how what was shown has ended, and gives the exit status: 0 without an error, 130 when it was interrupted, and else 1.
func (t *Terminal) Status(ctx context.Context, err error) int {
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		t.Line("Interrupted; everything has been stopped.")
		return 130
	default:
		t.Failure(err)
		return 1
	}
}
