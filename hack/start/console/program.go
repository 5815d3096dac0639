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
	// A pipe that closes, as under `| head`, must not end this program before those that it started.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
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
	switch err := show(ctx, o, terminal); {
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
