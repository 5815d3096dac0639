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
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Graft is the path of the command line.
const Graft = "bin/graft"

// Demo prints a demonstration. It is used by one goroutine.
type Demo struct {
	// Once ends the program when all has been shown.
	Once bool
	// Colour permits coloured text, and Width is the number of columns of the terminal; 0: any number.
	Colour bool
	Width  int
	// Folder is for files of the demonstration; it is removed at the end.
	Folder string

	out io.Writer
}

// New returns a demonstration on standard output.
func New(folder string) *Demo {
	d := &Demo{Folder: folder, out: os.Stdout}
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		// See no-color.org.
		d.Width, d.Colour = max(80, width-1), os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return d
}

// Main parses flags, runs show in a new folder until it returns or a signal arrives, and ends the process: with status 0 if everything
// went as it should, 1 if not, and 2 for a wrong command line. Show returns at the end of its steps; see Stay.
func Main(set *flag.FlagSet, show func(context.Context, *Demo) error) {
	os.Exit(Run(set, os.Args[1:], show))
}

// Run does the work of Main and returns the exit status.
func Run(set *flag.FlagSet, arguments []string, show func(context.Context, *Demo) error) int {
	once := set.Bool("once", truthy(os.Getenv("ONCE")), "end when all has been shown")
	err := set.Parse(arguments)
	if err == nil && set.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q: there are flags only, see -help", set.Arg(0))
		fmt.Fprintln(os.Stderr, err)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	folder, err := os.MkdirTemp("", "graft-"+set.Name()+"-")
	if err == nil {
		defer func() { _ = os.RemoveAll(folder) }()
		d := New(folder)
		d.Once = *once
		err = show(ctx, d)
	}
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "Interrupted; everything has been stopped.")
	default:
		fmt.Fprintln(os.Stderr, "\nFAILED", err)
	}
	return 1
}

// Write implements io.Writer.
func (d *Demo) Write(text []byte) (int, error) { return d.out.Write(text) }

// Printf prints a line.
func (d *Demo) Printf(format string, arguments ...any) {
	_, _ = fmt.Fprintf(d.out, format+"\n", arguments...)
}

// Title prints the title of the next steps.
func (d *Demo) Title(format string, arguments ...any) { d.Printf("\n"+d.Bold(format), arguments...) }

// Bold returns bold text if colours are permitted.
func (d *Demo) Bold(text string) string {
	if !d.Colour {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

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
	out, err := Output(ctx, line)
	if err != nil {
		return "", err
	}
	d.Show(out)
	return out, Contains(out, wanted...)
}

// Output runs a command and returns its output.
func Output(ctx context.Context, line []string) (string, error) {
	var problems bytes.Buffer
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("running %s: %w: %s", line[0], err, problems.String())
	}
	return string(out), nil
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

// Lacks returns an error if a text contains one of the unwanted texts.
func Lacks(text string, unwanted ...string) error {
	for _, u := range unwanted {
		if strings.Contains(text, u) {
			return fmt.Errorf("the output should not contain %s", u)
		}
	}
	return nil
}

// truthy reports whether people who write ONCE=value want it.
func truthy(value string) bool {
	switch strings.ToLower(value) {
	case "", "0", "false", "no":
		return false
	default:
		return true
	}
}
