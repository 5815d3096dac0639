// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package demo is shared by the programs of the `make start` targets: flags, progress lines, commands that are printed as a user
// would type them, and checks of their output. Start at Main.
package demo

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Graft is the path of the command line.
const Graft = "bin/graft"

// Demo prints a demonstration to standard output.
type Demo struct {
	// Once ends the program when all has been shown.
	Once bool
	// Folder is for files of the demonstration; it is removed at the end.
	Folder string
}

// Main parses flags, runs show in a new folder until it returns or a signal arrives, and ends the process: with status 0 if everything
// went as it should, 1 if not, and 2 for a wrong command line. Show returns at the end of its steps.
func Main(set *flag.FlagSet, show func(context.Context, *Demo) error) {
	d := &Demo{}
	once := !slices.Contains([]string{"", "0", "false", "no"}, strings.ToLower(os.Getenv("ONCE")))
	set.BoolVar(&d.Once, "once", once, "end when all has been shown")
	_ = set.Parse(os.Args[1:]) // it exits for a wrong flag
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	folder, err := os.MkdirTemp("", "graft-"+set.Name()+"-")
	if err == nil {
		d.Folder = folder
		err = errors.Join(show(ctx, d), os.RemoveAll(folder))
	}
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err == nil:
		return
	case interrupted:
		d.Printf("Interrupted; everything has been stopped.")
	default:
		fmt.Fprintln(os.Stderr, "\nFAILED", err)
	}
	os.Exit(1)
}

// Write implements io.Writer.
func (d *Demo) Write(text []byte) (int, error) { return os.Stdout.Write(text) }

// Printf prints a line.
func (d *Demo) Printf(format string, arguments ...any) {
	_, _ = fmt.Fprintf(d, format+"\n", arguments...)
}

// Title prints the title of the next steps.
func (d *Demo) Title(text string) { d.Printf("\n%s", text) }

// Show prints text indented.
func (d *Demo) Show(text string) {
	if text = strings.TrimSpace(text); text != "" {
		d.Printf("  %s", strings.ReplaceAll(text, "\n", "\n  "))
	}
}

// Phase runs a step that takes some seconds, and prints how long it took.
func (d *Demo) Phase(name string, step func() error) error {
	began := time.Now()
	if err := step(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	d.Printf("ok  %-60s %5.1f s", name, time.Since(began).Seconds())
	return nil
}

// Command prints a command, runs it and prints its output, which must contain all wanted texts.
func (d *Demo) Command(ctx context.Context, line []string, wanted ...string) (string, error) {
	d.Printf("  $ %s", strings.Join(line, " "))
	var problems bytes.Buffer
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Stderr = &problems
	out, err := command.Output()
	d.Show(string(out))
	if err != nil {
		return "", fmt.Errorf("running %s: %w: %s", line[0], err, problems.String())
	}
	return string(out), Contains(string(out), wanted...)
}

// Contains returns an error if a text lacks one of the wanted texts.
func Contains(text string, wanted ...string) error {
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			return fmt.Errorf("the output should contain %s", w)
		}
	}
	return nil
}
